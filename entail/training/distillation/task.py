r"""Distillation task: the loss of a method plus the distance to teachers on unlabelled sentences.

.. math:: L = L_{method} + \lambda \, (1 - \cos(E_h(x), t(x)))

t(x) is the vector of the teachers (`entail.training.distillation.teachers`). A tower that fits its judgements
closely stays near its teachers everywhere else (knowledge distillation, Hinton et al. 2015; of sentence
vectors, Reimers and Gurevych 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from entail.errors import TrainingError
from entail.index.protocol import Ints
from entail.training.adapters.tower import Tower
from entail.training.distillation.teachers import Teaching
from entail.training.loop.batches import batches
from entail.training.loop.task import Task

if TYPE_CHECKING:
    from torch import Tensor

_SEED_OFFSET = 7919  # the order of sentences must not depend on that of the method's batches


class DistillationTask:
    """Task of a method with teachers' sentences in each batch (`entail.training.loop.task.Task`).

    Args:
        task: Task of the method.
        teaching: Sentences and their targets.
        tower: Trained tower.
        weight: lambda.
        sentences: Sentences per step.
        seed: Random seed of their order.
        term: Name of the distance among the terms of the loss.

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

    def share(self, batch: tuple[Any, Ints], *, rank: int, size: int) -> tuple[Any, Ints]:
        """Return the part of a batch for one process."""
        own, taught = batch
        part = taught[rank::size]
        return self.task.share(own, rank=rank, size=size), part if len(part) else taught[:1]

    def loss(self, batch: tuple[Any, Ints]) -> tuple[Tensor, Mapping[str, float]]:
        """Return the loss of the method plus the weighted distance to the teachers."""
        import torch

        own, taught = batch
        total, terms = self.task.loss(own)
        vectors = self.tower.vectors([self.teaching.sentences[i] for i in taught])  # (sentences, d)
        targets = torch.from_numpy(self.teaching.vectors[taught]).to(vectors.device)
        distance = 1 - (vectors * targets).sum(dim=1).mean()
        return total + self.weight * distance, {**terms, self._term: float(distance.detach())}
