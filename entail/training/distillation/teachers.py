r"""Teachers of unlabelled sentences, as targets of distillation.

`Teaching` has the mean vector of several encoders E_i:

.. math:: t(x) = \sum_i E_i(x) / |\sum_i E_i(x)|

The mean ranks better than each teacher, but costs an encoding per teacher. `CrossEncoderTeacher` adds a
cross-encoder's scores R of the nearest premises, 0 of all others. The trained vectors E learn the ranking of
all premises P:

.. math:: L = KL(\mathrm{softmax}((T P + w R) / \tau) \,|\, \mathrm{softmax}(E P / \tau))

A cross-encoder ranks better than vectors can, but costs a forward pass per pair. Here it scores each pair
once (Hofstätter et al. 2020).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from entail.data.records import Corpus
from entail.data.text import fold
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.encoder import BiEncoder
from entail.errors import TrainingError
from entail.index.protocol import Floats, Ints
from entail.index.ranking import top_k
from entail.progress import ProgressCallback

if TYPE_CHECKING:
    import torch

    Distance = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    """Trained vectors, shape (some, d), and indices of their sentences -> distance to the targets."""

_AT_ONCE = 256
_DROPPED = 0.2
"""Share of words."""

ScorePairs = Callable[[Sequence[str], Sequence[str]], ArrayLike]
"""Premises, and a sentence for each -> score of each pair, 0 to 1, shape (pairs,)."""


@dataclass(frozen=True)
class Teaching:
    """Distinct folded sentences with unit vectors of the teachers, shape (sentences, d), and their names."""

    sentences: tuple[str, ...]
    vectors: Floats
    teachers: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Identity of sentences and vectors."""
        found = hashlib.sha256("\n".join(self.sentences).encode())
        found.update(np.ascontiguousarray(self.vectors).tobytes())
        return found.hexdigest()[:12]

    def without(self, texts: Container[str]) -> Teaching:
        """Return a copy without some sentences, such as the queries of dev."""
        kept = [i for i, sentence in enumerate(self.sentences) if sentence not in texts]
        return Teaching(tuple(self.sentences[i] for i in kept), self.vectors[kept], self.teachers)

    def join(self, other: Teaching) -> Teaching:
        """Return both, with the vectors of the first for sentences of both.

        With an encoder's vectors of its own domain and its base's of another, a tower is trained further
        in the one and keeps what the base knew of the other (replay).
        """
        added = other.without(frozenset(self.sentences))
        vectors = np.concatenate([self.vectors, added.vectors])
        return Teaching(self.sentences + added.sentences, vectors, self.teachers + other.teachers)

    def distance(self, premises: torch.Tensor) -> Distance:
        """Return the mean of 1 - cosine between trained vectors and the teachers'."""
        import torch

        targets = torch.from_numpy(self.vectors).to(premises.device)

        def distance(learning: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
            return 1 - (learning * targets[which]).sum(dim=1).mean()

        return distance

    def move_apart(self, premises: Floats, *, weight: float, temperature: float = 0.05) -> Teaching:
        r"""Return a copy whose vectors are moved away from crowded regions of premises.

        .. math:: t' \propto t - w \sum_p \mathrm{softmax}_p(\cos(t, p) / \tau) \, p

        The step follows the negative gradient of the density of premises: of two similar premises it favours
        the one with fewer neighbours. It replaces hard negatives for sentences that have none.
        """
        moved = np.empty_like(self.vectors)
        for start in range(0, len(moved), _AT_ONCE):
            t = self.vectors[start : start + _AT_ONCE]
            shares = np.exp((t @ premises.T - 1) / temperature)
            t = t - weight * (shares @ premises) / shares.sum(axis=1, keepdims=True)
            moved[start : start + _AT_ONCE] = t / np.linalg.norm(t, axis=1, keepdims=True).clip(1e-12)
        return Teaching(self.sentences, moved, self.teachers)


@dataclass(frozen=True)
class CrossEncoderTeacher:
    """Sentences with a cross-encoder's scores of their nearest premises.

    Attributes:
        positions: Positions of the nearest premises, shape (sentences, nearest).
        scores: Scores of the cross-encoder, 0 to 1, same shape.
        reader: Name of the cross-encoder.
        share: Weight w of the scores.
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
        teaching = self.teaching.without(texts)
        return replace(self, teaching=teaching, positions=self.positions[kept], scores=self.scores[kept])

    def distance(self, premises: torch.Tensor) -> Distance:
        """Return the divergence of the trained vectors' ranking of premises from the teachers'."""
        import torch

        device = premises.device
        vectors, positions, scores = (
            torch.from_numpy(numbers).to(device) for numbers in (self.vectors, self.positions, self.scores)
        )

        def distance(learning: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
            wanted = vectors[which] @ premises.T
            wanted = wanted.scatter_add(1, positions[which], self.share * scores[which])
            target = torch.log_softmax(wanted / self.temperature, dim=1)
            ours = torch.log_softmax(learning @ premises.T / self.temperature, dim=1)
            return torch.nn.functional.kl_div(ours, target, log_target=True, reduction="batchmean")

        return distance


def vary(sentences: Sequence[str], *, count: int, seed: int) -> tuple[str, ...]:
    """Return `count` variations of each sentence: words left out, or another sentence's part as its end.

    Distilling them keeps a tower close to its teachers around the sentences that it memorises.

    >>> vary(["ice is cold"], count=2, seed=1)
    ('ice is', 'ice is ice')
    """
    rng = np.random.default_rng(seed)
    words = [fold(sentence).split() for sentence in sentences]
    made: dict[str, None] = {}
    for _ in range(count):
        for own in words:
            if rng.random() < 0.5:
                some = [word for word in own if rng.random() > _DROPPED]
            else:
                other = words[rng.integers(len(words))]
                begun = max(2, int(len(own) * rng.uniform(0.3, 0.9)))
                rest = slice(int(len(other) * rng.uniform(0.1, 0.7)))
                some = own[:begun] + other[rest]
            made[" ".join(some)] = None
    given = {"", *(" ".join(own) for own in words)}
    return tuple(text for text in made if text not in given)


def teach(
    teachers: Sequence[str | Path | EncoderEntry],
    sentences: Sequence[str],
    *,
    device: str | None = None,
    progress: ProgressCallback | None = None,
) -> Teaching:
    """Encode sentences by the query towers of teachers on one base.

    Raises:
        TrainingError: If there is no teacher or no sentence, or the teachers' vectors differ in length.
        EncoderError: If a teacher cannot be loaded.
    """
    folded = tuple(dict.fromkeys(map(fold, sentences)))
    if not teachers or not folded:
        raise TrainingError(
            f"expected teachers and sentences to learn from them, found {len(teachers)} and {len(folded)}"
        )
    encoders = [BiEncoder(teacher, device=device) for teacher in teachers]
    dimensions = {encoder.name: encoder.dimension for encoder in encoders}
    if len(set(dimensions.values())) > 1:
        raise TrainingError(f"expected teachers whose vectors are of one length, found {dimensions}")
    total = np.zeros((len(folded), encoders[0].dimension), dtype=np.float32)
    for encoder in encoders:
        total += encoder.encode_queries(folded, progress=progress)
    vectors: Floats = total / np.linalg.norm(total, axis=1, keepdims=True).clip(1e-12)
    return Teaching(folded, vectors, tuple(encoder.name for encoder in encoders))


def score_nearest(
    teaching: Teaching,
    corpus: Corpus,
    premises: Floats,
    score: ScorePairs,
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
        score: Cross-encoder, such as `NliJudge.entailment`.
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
    hits = [top_k(teaching.vectors[start : start + _AT_ONCE] @ premises.T, nearest) for start in starts]
    positions = np.concatenate([some.positions for some in hits])
    sentences = [sentence for sentence in teaching.sentences for _ in positions[0]]
    found = score([corpus.texts[position] for position in positions.ravel().tolist()], sentences)
    scores: Floats = np.array(found, dtype=np.float32).reshape(positions.shape)
    own = [corpus.position(sentence) for sentence in teaching.sentences]
    scores[positions == np.array([-1 if at is None else at for at in own])[:, None]] = 0.0
    return CrossEncoderTeacher(teaching, positions, scores, reader, share, temperature)
