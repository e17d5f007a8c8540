r"""Distillation of a cross-encoder's scores of the premises nearest to unlabelled sentences, as a ranking.

.. math:: L = KL(\mathrm{softmax}((T P + w R) / \tau) \,|\, \mathrm{softmax}(E P / \tau))

T are the teachers' vectors, P all premises, R the cross-encoder's scores of the nearest premises and 0 of all
others, E the trained vectors. A cross-encoder ranks the nearest premises better than vectors can, but costs a
forward pass per pair. Here it scores each pair once, and a tower learns the scores, at one inner product per
pair (Hofstätter et al. 2020).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from entail.data.records import Corpus
from entail.errors import TrainingError
from entail.index.protocol import Floats, Ints
from entail.index.ranking import top_k
from entail.training.distillation.teachers import Teaching

if TYPE_CHECKING:
    import torch

    from entail.training.distillation.teachers import Distance

_AT_ONCE = 256

Says = Callable[[Sequence[str], Sequence[str]], ArrayLike]
"""Premises, and a sentence for each -> score of each pair, 0 to 1, shape (pairs,)."""


@dataclass(frozen=True)
class CrossEncoderTeacher:
    """Sentences with a cross-encoder's scores of their nearest premises.

    Attributes:
        teaching: Sentences, and the teachers' vectors.
        positions: Positions of the nearest premises, shape (sentences, nearest).
        scores: Scores of the cross-encoder, 0 to 1, same shape.
        reader: Name of the cross-encoder.
        share: Weight w of the scores.
        temperature: tau.
    """

    teaching: Teaching
    positions: Ints
    scores: Floats
    reader: str
    share: float
    temperature: float

    def __post_init__(self) -> None:
        shape = (len(self.teaching.sentences), self.positions.shape[-1])
        if self.positions.shape != shape or self.scores.shape != shape or not self.temperature > 0:
            raise TrainingError(
                f"expected positions and scores of shape {shape} and a temperature above 0, found "
                f"{self.positions.shape}, {self.scores.shape} and {self.temperature:g}"
            )

    @property
    def sentences(self) -> tuple[str, ...]:
        """Folded sentences, each once."""
        return self.teaching.sentences

    @property
    def vectors(self) -> Floats:
        """Vectors of the teachers, shape (sentences, d)."""
        return self.teaching.vectors

    @property
    def teachers(self) -> tuple[str, ...]:
        """Names of the teachers and the cross-encoder."""
        return (*self.teaching.teachers, self.reader)

    @property
    def digest(self) -> str:
        """Identity of sentences, vectors and scores."""
        found = hashlib.sha256(f"{self.teaching.digest} {self.share:g} {self.temperature:g}".encode())
        for numbers in (self.positions, self.scores):
            found.update(np.ascontiguousarray(numbers).tobytes())
        return found.hexdigest()[:12]

    def without(self, texts: Container[str]) -> CrossEncoderTeacher:
        """Return a copy without some sentences, such as the queries of dev."""
        kept = [i for i, sentence in enumerate(self.sentences) if sentence not in texts]
        left = self.teaching.without(texts)
        return replace(self, teaching=left, positions=self.positions[kept], scores=self.scores[kept])

    def distance(self, premises: torch.Tensor) -> Distance:
        """Return the distance of trained vectors to the targets; see `Teaching.distance`."""
        import torch

        device = premises.device
        vectors = torch.from_numpy(self.vectors).to(device)
        positions = torch.from_numpy(self.positions).to(device)
        scores = torch.from_numpy(self.scores).to(device)

        def of(learning: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
            wanted = vectors[which] @ premises.T
            wanted = wanted.scatter_add(1, positions[which], self.share * scores[which])
            likely = torch.log_softmax(wanted / self.temperature, dim=1)
            ours = torch.log_softmax(learning @ premises.T / self.temperature, dim=1)
            return torch.nn.functional.kl_div(ours, likely, log_target=True, reduction="batchmean")

        return of


def score_nearest(
    teaching: Teaching,
    corpus: Corpus,
    premises: Floats,
    says: Says,
    *,
    reader: str,
    nearest: int = 30,
    share: float = 0.1,
    temperature: float = 0.05,
) -> CrossEncoderTeacher:
    """Score the premises nearest to each sentence by a cross-encoder.

    A premise that equals the sentence scores 0, as it explains nothing.

    Args:
        teaching: Sentences, and teachers' vectors to find the nearest premises by.
        corpus: Corpus of the premises.
        premises: Unit vectors of the premises, shape (premises, d).
        says: Cross-encoder, such as `NliJudge.entailment`.
        reader: Name of the cross-encoder.
        nearest: Number of premises per sentence, at most all.
        share: Weight w of the scores.
        temperature: tau.

    Raises:
        RetrievalError: If `nearest` is below 1.
        TrainingError: If there is no sentence, or the temperature is not above 0.
    """
    if not teaching.sentences:
        raise TrainingError("expected sentences to read premises for, found none")
    starts = range(0, len(teaching.sentences), _AT_ONCE)
    near = (top_k(teaching.vectors[start : start + _AT_ONCE] @ premises.T, nearest) for start in starts)
    positions = np.concatenate([hits.positions for hits in near])
    sentences = [sentence for sentence in teaching.sentences for _ in positions[0]]
    found = says([corpus.texts[position] for position in positions.ravel().tolist()], sentences)
    scores: Floats = np.array(found, dtype=np.float32).reshape(positions.shape)
    own = [corpus.position(sentence) for sentence in teaching.sentences]
    scores[positions == np.array([-1 if at is None else at for at in own])[:, None]] = 0.0
    return CrossEncoderTeacher(teaching, positions, scores, reader, share, temperature)
