r"""What a reader of pairs says of premises near to sentences that nobody judged, distilled as a ranking.

.. math:: L = KL(\mathrm{softmax}((T P + w R) / \tau) \,|\, \mathrm{softmax}(E P / \tau))

T are the teachers' vectors, P all premises, R what the reader says of the nearest of them and 0 of all
others, E the vectors that learn. A cross-encoder that reads a sentence and a premise together ranks the
nearest better than vectors can, but costs a forward pass a pair: what it says is asked once, and learnt by a
tower that costs one inner product (Hofstätter et al. 2020 distil scores in this way).
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
from entail.training.teaching import Teaching

if TYPE_CHECKING:
    import torch

    from entail.training.teaching import Distance

_AT_ONCE = 256

Says = Callable[[Sequence[str], Sequence[str]], ArrayLike]
"""Premises, and a sentence for each -> how much each premise explains it, 0 to 1, shape (pairs,)."""


@dataclass(frozen=True)
class Reading:
    """A teaching, and what a reader says of the premises nearest to each of its sentences.

    Attributes:
        teaching: Sentences, and the teachers' vectors.
        places: Positions of the nearest premises, shape (sentences, nearest).
        said: What the reader says of each, 0 to 1, same shape.
        reader: Its name.
        share: w.
        temperature: tau.
    """

    teaching: Teaching
    places: Ints
    said: Floats
    reader: str
    share: float
    temperature: float

    def __post_init__(self) -> None:
        shape = (len(self.teaching.sentences), self.places.shape[-1])
        if self.places.shape != shape or self.said.shape != shape or not self.temperature > 0:
            raise TrainingError(
                f"expected places and what was said of them of shape {shape} and a temperature above 0, "
                f"found {self.places.shape}, {self.said.shape} and {self.temperature:g}"
            )

    @property
    def sentences(self) -> tuple[str, ...]:
        """Folded, each once."""
        return self.teaching.sentences

    @property
    def vectors(self) -> Floats:
        """Of the teachers, shape (sentences, d)."""
        return self.teaching.vectors

    @property
    def teachers(self) -> tuple[str, ...]:
        """The teachers' names, and the reader's."""
        return (*self.teaching.teachers, self.reader)

    @property
    def digest(self) -> str:
        """Identity of all of it."""
        found = hashlib.sha256(f"{self.teaching.digest} {self.share:g} {self.temperature:g}".encode())
        for numbers in (self.places, self.said):
            found.update(np.ascontiguousarray(numbers).tobytes())
        return found.hexdigest()[:12]

    def without(self, texts: Container[str]) -> Reading:
        """Return it without some sentences, such as the queries that will be measured on."""
        kept = [i for i, sentence in enumerate(self.sentences) if sentence not in texts]
        left = self.teaching.without(texts)
        return replace(self, teaching=left, places=self.places[kept], said=self.said[kept])

    def distance(self, premises: torch.Tensor) -> Distance:
        """Return what compares vectors of some sentences with what is said of them (`Teaching.distance`)."""
        import torch

        device = premises.device
        vectors = torch.from_numpy(self.vectors).to(device)
        places = torch.from_numpy(self.places).to(device)
        said = torch.from_numpy(self.said).to(device)

        def of(learning: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
            wanted = vectors[which] @ premises.T
            wanted = wanted.scatter_add(1, places[which], self.share * said[which])
            likely = torch.log_softmax(wanted / self.temperature, dim=1)
            ours = torch.log_softmax(learning @ premises.T / self.temperature, dim=1)
            return torch.nn.functional.kl_div(ours, likely, log_target=True, reduction="batchmean")

        return of


def read(
    teaching: Teaching,
    corpus: Corpus,
    premises: Floats,
    says: Says,
    *,
    reader: str,
    nearest: int = 30,
    share: float = 0.1,
    temperature: float = 0.05,
) -> Reading:
    """Ask a reader of the premises nearest to each sentence.

    Of a premise that is the sentence itself nothing is said: it explains nothing.

    Args:
        teaching: Sentences, and teachers' vectors that tell what is near.
        corpus: The premises.
        premises: Their unit vectors, shape (premises, d).
        says: The reader, such as `NliJudge.entailment`.
        reader: Its name.
        nearest: How many premises of each sentence are read; cut to all there are.
        share: w.
        temperature: tau.

    Raises:
        RetrievalError: If fewer than one is to be read.
        TrainingError: If there is no sentence, or a temperature of 0 or less.
    """
    if not teaching.sentences:
        raise TrainingError("expected sentences to read premises for, found none")
    starts = range(0, len(teaching.sentences), _AT_ONCE)
    near = (top_k(teaching.vectors[start : start + _AT_ONCE] @ premises.T, nearest) for start in starts)
    places = np.concatenate([hits.positions for hits in near])
    asked = [sentence for sentence in teaching.sentences for _ in places[0]]
    found = says([corpus.texts[place] for place in places.ravel().tolist()], asked)
    said: Floats = np.array(found, dtype=np.float32).reshape(places.shape)
    itself = [corpus.position(sentence) for sentence in teaching.sentences]
    said[places == np.array([-1 if place is None else place for place in itself])[:, None]] = 0.0
    return Reading(teaching, places, said, reader, share, temperature)
