r"""Rankings that teachers make of the premises, to be learnt whole (listwise distillation).

.. math:: s(x, p) = t(x) \cdot p + w \, \ell(x, p), \quad
          L = \mathrm{KL}(\sigma_p(s / \tau) \,\|\, \sigma_p(E_h(x) \cdot p / \tau))

over the n premises of highest s; t is the teachers' vector, l a lexical index, sigma the softmax. A vector
cannot say "the premise that shares this rare word" unless its tower learns where the premises with that word
lie; the share of l in s is what teaches it. What is left is one inner product a query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from entail.data.records import Corpus
from entail.errors import TrainingError
from entail.index.protocol import Floats, Ints, PremiseIndex
from entail.index.ranking import top_k
from entail.progress import Meter, ProgressCallback
from entail.training.teaching import Teaching

if TYPE_CHECKING:
    from torch import Tensor

_AT_ONCE = 256


@dataclass(frozen=True)
class Rankings:
    """The first premises of every sentence of a teaching.

    Attributes:
        positions: Positions in the corpus, shape (sentences, n).
        scores: s, same shape.
    """

    positions: Ints
    scores: Floats


def rank_premises(
    teaching: Teaching,
    corpus: Corpus,
    premises: Floats,
    lexical: PremiseIndex,
    *,
    weight: float,
    size: int = 256,
    progress: ProgressCallback | None = None,
) -> Rankings:
    """Rank the premises for every sentence; its own text is none.

    Args:
        teaching: The sentences and the teachers' vectors.
        corpus: The premises.
        premises: Their unit vectors, shape (premises, d).
        lexical: An index of the same corpus.
        weight: w.
        size: n; cut to the number of premises but one.
        progress: Told how far it is.

    Raises:
        TrainingError: If the corpus has a single premise, or the index is of another one.
    """
    if lexical.manifest.corpus_hash != corpus.hash:
        raise TrainingError(
            f"expected a lexical index of the corpus {corpus.name!r}, found {lexical.name!r} of another one"
        )
    if len(corpus) < 2:
        raise TrainingError(f"expected at least 2 premises to rank, found {len(corpus)}")
    size = min(size, len(corpus) - 1)
    positions: Ints = np.empty((len(teaching.sentences), size), dtype=np.int64)
    scores: Floats = np.empty((len(teaching.sentences), size), dtype=np.float32)
    meter = Meter(len(teaching.sentences), "ranking", unit="sentences", report=progress)
    for start in range(0, len(teaching.sentences), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        sentences = teaching.sentences[some]
        found = teaching.vectors[some] @ premises.T + np.float32(weight) * lexical.scores(sentences)
        for row, sentence in enumerate(sentences):
            if (own := corpus.position(sentence)) is not None:
                found[row, own] = -np.inf
        hits = top_k(found, size)
        positions[some], scores[some] = hits.positions, hits.scores
        meter.add(len(sentences))
    return Rankings(positions, scores)


def listwise(similarities: Tensor, scores: Tensor, *, temperature: float) -> Tensor:
    """Return the divergence of each row of similarities from a row of scores, shape (sentences,).

    Args:
        similarities: Of a student, shape (sentences, n).
        scores: Of its teachers, same shape.
        temperature: tau of both softmaxes.
    """
    import torch

    said = torch.log_softmax(scores / temperature, dim=1)
    return (said.exp() * (said - torch.log_softmax(similarities / temperature, dim=1))).sum(dim=1)
