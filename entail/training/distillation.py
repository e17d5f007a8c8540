r"""Learning what teachers say of sentences that nobody judged, beside what a method learns from judgements.

.. math:: L = L_{method} + \lambda \, D(E_h(x), t(x))

D is 1 - cosine to the teachers' vector, or of a `Reading` how far the ranking of all premises is from what a
reader of pairs makes of it. A tower that is to learn its judgements by heart keeps to its teachers everywhere
else (knowledge distillation, Hinton et al. 2015; of sentence vectors, Reimers and Gurevych 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from entail.errors import TrainingError
from entail.index.protocol import Ints
from entail.training.batches import batches
from entail.training.reading import Reading
from entail.training.task import Task
from entail.training.teaching import Teaching
from entail.training.tower import Tower

if TYPE_CHECKING:
    from torch import Tensor

_DEALT_APART = 7919  # sentences are dealt by a seed of their own, whatever the method deals by


class Distilling:
    """A method's task with the teachers' sentences beside its batches (`entail.training.task.Task`).

    Args:
        task: The method's own.
        teaching: What the teachers say.
        tower: What learns it.
        premises: Unit vectors of the corpus, shape (premises, d).
        weight: lambda.
        sentences: So many a step.
        seed: Of the order in which they come.

    Raises:
        TrainingError: If the teachers' vectors are not of the tower's length, or nothing is left to teach.
    """

    def __init__(
        self,
        task: Task,
        teaching: Teaching | Reading,
        tower: Tower,
        *,
        premises: Tensor,
        weight: float,
        sentences: int,
        seed: int,
    ) -> None:
        if teaching.vectors.shape[1] != tower.dimension or not teaching.sentences:
            raise TrainingError(
                f"expected sentences with vectors of length {tower.dimension} from the teachers, found "
                f"{len(teaching.sentences)} of length {teaching.vectors.shape[1]}"
            )
        self.task, self.teaching, self.tower = task, teaching, tower
        self.weight, self._sentences, self._seed = weight, sentences, seed
        self._lengths = tower.lengths(teaching.sentences)
        self._distance = teaching.distance(premises)

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
        distance = self._distance(vectors, torch.from_numpy(taught).to(vectors.device))
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
