r"""Learning what teachers make of sentences that nobody judged, beside what a method learns from judgements.

.. math:: L = L_{method} + \lambda \, (1 - \cos(E_h(x), t(x))), \quad t(x) = \sum_i E_i(x) / |\sum_i E_i(x)|

The teachers E_i are several trainings; their mean ranks better than each, but costs an encoding each. A tower
that is to learn its judgements by heart keeps to the mean everywhere else (knowledge distillation, Hinton et
al. 2015; of sentence vectors, Reimers and Gurevych 2020).
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.data.text import fold
from entail.encoders.biencoder import BiEncoder
from entail.encoders.catalogue import EncoderEntry
from entail.errors import TrainingError
from entail.index.protocol import Floats, Ints
from entail.progress import ProgressCallback
from entail.training.batches import batches
from entail.training.task import Task
from entail.training.tower import Tower

if TYPE_CHECKING:
    from torch import Tensor

_AT_ONCE = 256
_DEALT_APART = 7919  # sentences are dealt by a seed of their own, whatever the method deals by


@dataclass(frozen=True)
class Teaching:
    """Sentences, and what the teachers make of them.

    Attributes:
        sentences: Folded, each once.
        vectors: Unit vectors, shape (sentences, d).
        teachers: Their names.
    """

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
        """Return the teaching without some sentences, such as the queries that will be measured on."""
        kept = [i for i, sentence in enumerate(self.sentences) if sentence not in texts]
        return Teaching(tuple(self.sentences[i] for i in kept), self.vectors[kept], self.teachers)

    def apart(self, premises: Floats, *, weight: float, temperature: float = 0.05) -> Teaching:
        r"""Return the teaching a step away from where premises crowd around its vectors.

        .. math:: t' \propto t - w \sum_p \mathrm{softmax}_p(\cos(t, p) / \tau) \, p

        The step goes down the gradient of the density of premises: of two premises alike it favours the one
        that fewer others resemble. It is what a hard negative does, for sentences that have none.

        Args:
            premises: Unit vectors of the corpus, shape (premises, d).
            weight: w.
            temperature: tau.
        """
        moved = np.empty_like(self.vectors)
        for start in range(0, len(moved), _AT_ONCE):
            t = self.vectors[start : start + _AT_ONCE]
            shares = np.exp((t @ premises.T - 1) / temperature)
            t = t - weight * (shares @ premises) / shares.sum(axis=1, keepdims=True)
            moved[start : start + _AT_ONCE] = t / np.linalg.norm(t, axis=1, keepdims=True).clip(1e-12)
        return Teaching(self.sentences, moved, self.teachers)


def teach(
    teachers: Sequence[str | Path | EncoderEntry],
    sentences: Sequence[str],
    *,
    device: str | None = None,
    progress: ProgressCallback | None = None,
) -> Teaching:
    """Ask teachers, as query towers, what they make of sentences.

    Args:
        teachers: Encoders of one base.
        sentences: As they come; they are folded, doubles go.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        progress: Told how far it is.

    Raises:
        TrainingError: If there is no teacher or no sentence, or the teachers' vectors differ in length.
        EncoderError: If a teacher cannot be loaded.
    """
    told = tuple(dict.fromkeys(map(fold, sentences)))
    if not teachers or not told:
        raise TrainingError(
            f"expected teachers and sentences to learn from them, found {len(teachers)} and {len(told)}"
        )
    encoders = [BiEncoder(teacher, device=device) for teacher in teachers]
    dimensions = {encoder.name: encoder.dimension for encoder in encoders}
    if len(set(dimensions.values())) > 1:
        raise TrainingError(f"expected teachers whose vectors are of one length, found {dimensions}")
    total = np.zeros((len(told), encoders[0].dimension), dtype=np.float32)
    for encoder in encoders:
        total += encoder.encode_queries(told, progress=progress)
    vectors: Floats = total / np.linalg.norm(total, axis=1, keepdims=True).clip(1e-12)
    return Teaching(told, vectors, tuple(encoder.name for encoder in encoders))


class Distilling:
    """A method's task with the teachers' sentences beside its batches (`entail.training.task.Task`).

    Args:
        task: The method's own.
        teaching: What the teachers say.
        tower: What learns it.
        weight: lambda.
        sentences: So many a step.
        seed: Of the order in which they come.

    Raises:
        TrainingError: If the teachers' vectors are not of the tower's length, or nothing is left to teach.
    """

    def __init__(
        self, task: Task, teaching: Teaching, tower: Tower, *, weight: float, sentences: int, seed: int
    ) -> None:
        import torch

        if teaching.vectors.shape[1] != tower.dimension or not teaching.sentences:
            raise TrainingError(
                f"expected sentences with vectors of length {tower.dimension} from the teachers, found "
                f"{len(teaching.sentences)} of length {teaching.vectors.shape[1]}"
            )
        self.task, self.teaching, self.tower = task, teaching, tower
        self.weight, self._sentences, self._seed = weight, sentences, seed
        self._lengths = tower.lengths(teaching.sentences)
        self._targets = torch.from_numpy(teaching.vectors).to(tower.device)

    def begin_epoch(self, epoch: int) -> None:
        """Prepare the method's epoch."""
        self.task.begin_epoch(epoch)

    def batches(self, epoch: int) -> Sequence[tuple[Any, Ints]]:
        """Return the method's batches, each with sentences; of those other ones every epoch."""
        own = self.task.batches(epoch)
        seed, size = self._seed + _DEALT_APART, self._sentences
        taught: list[Ints] = []
        while len(taught) < len(own):
            turn = len(own) * epoch + len(taught)
            taught += batches(self._lengths, batch_size=size, seed=seed, epoch=turn)
        return list(zip(own, taught[: len(own)], strict=True))

    def steps(self, epochs: int) -> int:
        """Return the method's steps."""
        return self.task.steps(epochs)

    def share(self, batch: tuple[Any, Ints], *, rank: int, size: int) -> tuple[Any, Ints]:
        """Return the part of both that one process takes."""
        own, taught = batch
        some = taught[rank::size]
        return self.task.share(own, rank=rank, size=size), some if len(some) else taught[:1]

    def loss(self, batch: tuple[Any, Ints]) -> tuple[Tensor, Mapping[str, float]]:
        """Return the method's loss and the distance to the teachers."""
        import torch

        own, taught = batch
        total, terms = self.task.loss(own)
        vectors = self.tower.vectors([self.teaching.sentences[i] for i in taught])  # (sentences, d)
        targets = self._targets[torch.from_numpy(taught).to(vectors.device)]
        distance = 1 - (vectors * targets).sum(dim=1).mean()
        return total + self.weight * distance, {**terms, "distil": float(distance.detach())}

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Measure as the method does."""
        return self.task.evaluate()

    def state(self) -> Mapping[str, Any]:
        """Return the method's state: what is taught depends on the epoch alone."""
        return self.task.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take it back."""
        self.task.restore(state)
