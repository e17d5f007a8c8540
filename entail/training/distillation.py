r"""Distillation: a tower in training stays near the mean vector of teachers on unlabelled sentences.

.. math:: t(x) = \sum_i E_i(x) / |\sum_i E_i(x)|, \quad L = L_{method} + \lambda \, (1 - \cos(E_h(x), t(x)))

The mean ranks better than each teacher, but costs an encoding per teacher. A tower that fits its judgements
closely stays near its teachers everywhere else (knowledge distillation, Hinton et al. 2015; of sentence
vectors, Reimers and Gurevych 2020).
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.data.text import fold
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.encoder import BiEncoder
from entail.errors import TrainingError
from entail.index.protocol import Floats, Ints
from entail.training.adapters.tower import Tower
from entail.training.loop.batches import batches
from entail.training.loop.task import Task

if TYPE_CHECKING:
    from torch import Tensor

_SEED_OFFSET = 7919  # the order of sentences must not depend on that of the method's batches


@dataclass(frozen=True)
class Teaching:
    """Distinct folded sentences with unit vectors of the teachers, shape (sentences, d), and their names."""

    sentences: tuple[str, ...]
    vectors: Floats
    teachers: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Identity of sentences and vectors."""
        hasher = hashlib.sha256("\n".join(self.sentences).encode())
        hasher.update(np.ascontiguousarray(self.vectors).tobytes())
        return hasher.hexdigest()[:12]

    def without(self, texts: Container[str]) -> Teaching:
        """Return a copy without some sentences, such as the queries of dev."""
        indices = [i for i, sentence in enumerate(self.sentences) if sentence not in texts]
        return Teaching(tuple(self.sentences[i] for i in indices), self.vectors[indices], self.teachers)

    def join(self, other: Teaching) -> Teaching:
        """Return both, with the vectors of the first for sentences of both.

        With an encoder's vectors of its own domain and its base's of another, a tower is trained further
        in the one and keeps what the base knew of the other (replay).
        """
        added = other.without(frozenset(self.sentences))
        vectors = np.concatenate([self.vectors, added.vectors])
        return Teaching(self.sentences + added.sentences, vectors, self.teachers + other.teachers)


def teach(teachers: Sequence[str | Path | EncoderEntry], sentences: Sequence[str]) -> Teaching:
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
    encoders = [BiEncoder(teacher) for teacher in teachers]
    dimensions = {encoder.name: encoder.dimension for encoder in encoders}
    if len(set(dimensions.values())) > 1:
        raise TrainingError(f"expected teachers whose vectors are of one length, found {dimensions}")
    total = np.zeros((len(folded), encoders[0].dimension), dtype=np.float32)
    for encoder in encoders:
        total += encoder.encode_queries(folded)
    vectors: Floats = total / np.linalg.norm(total, axis=1, keepdims=True).clip(1e-12)
    return Teaching(folded, vectors, tuple(encoder.name for encoder in encoders))


class DistillationTask:
    """Task of a method with some of the teachers' sentences in each batch.

    `weight` is lambda, `term` the name of the distance among the terms of the loss.

    Raises:
        TrainingError: If the teachers' vectors have another length than the tower's, or there is no sentence.
    """

    def __init__(
        self,
        task: Task,
        teaching: Teaching,
        tower: Tower,
        *,
        weight: float,
        sentences: int,
        seed: int,
        term: str = "distil",
    ) -> None:
        if teaching.vectors.shape[1] != tower.dimension or not teaching.sentences:
            raise TrainingError(
                f"expected sentences with vectors of length {tower.dimension} from the teachers, found "
                f"{len(teaching.sentences)} of length {teaching.vectors.shape[1]}"
            )
        self.task, self.teaching, self.tower = task, teaching, tower
        self.weight, self._sentences, self._seed, self._term = weight, sentences, seed, term
        self._lengths = tower.lengths(teaching.sentences)
        self.begin_epoch, self.steps, self.evaluate = task.begin_epoch, task.steps, task.evaluate
        self.state, self.restore = task.state, task.restore  # sentences depend only on seed and epoch

    def batches(self, epoch: int) -> Sequence[tuple[Any, Ints]]:
        """Return the method's batches with sentences, which differ from epoch to epoch."""
        own = self.task.batches(epoch)
        seed, size = self._seed + _SEED_OFFSET, self._sentences
        taught: list[Ints] = []
        while len(taught) < len(own):
            turn = len(own) * epoch + len(taught)
            taught += batches(self._lengths, batch_size=size, seed=seed, epoch=turn)
        return list(zip(own, taught[: len(own)], strict=True))

    def loss(self, batch: tuple[Any, Ints]) -> tuple[Tensor, Mapping[str, float]]:
        """Return the loss of the method plus the weighted distance to the teachers."""
        import torch

        own, taught = batch
        total, terms = self.task.loss(own)
        vectors = self.tower.vectors([self.teaching.sentences[i] for i in taught])  # (sentences, d)
        targets = torch.from_numpy(self.teaching.vectors[taught]).to(vectors.device)
        distance = 1 - (vectors * targets).sum(dim=1).mean()
        return total + self.weight * distance, {**terms, self._term: float(distance.detach())}
