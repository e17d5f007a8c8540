r"""Learning what teachers say of sentences that nobody judged, beside what a method learns from judgements.

.. math:: L = L_{method} + \lambda \, (1 - \cos(E_h(x), t(x))) + \mu \, L_{ranking}

A tower that is to learn its judgements by heart keeps to its teachers everywhere else (knowledge
distillation, Hinton et al. 2015; of sentence vectors, Reimers and Gurevych 2020): to their vectors
(`teaching`), and to the rankings that they make of the premises (`rankings`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from entail.errors import TrainingError
from entail.index.protocol import Floats, Ints
from entail.training.batches import batches
from entail.training.rankings import Rankings, listwise
from entail.training.task import Task
from entail.training.teaching import Teaching
from entail.training.tower import Tower

if TYPE_CHECKING:
    from torch import Tensor

_DEALT_APART = 7919  # sentences are dealt by a seed of their own, whatever the method deals by


@dataclass(frozen=True)
class RankedPremises:
    """What a student's ranking is measured by.

    Attributes:
        rankings: The teachers'.
        premises: Unit vectors of the corpus, which stay as they are, shape (premises, d).
        weight: mu.
        temperature: tau.
    """

    rankings: Rankings
    premises: Floats
    weight: float
    temperature: float = 0.05


class Distilling:
    """A method's task with the teachers' sentences beside its batches (`entail.training.task.Task`).

    Args:
        task: The method's own.
        teaching: What the teachers say.
        tower: What learns it.
        weight: lambda.
        sentences: So many a step.
        seed: Of the order in which they come.
        ranked: The teachers' rankings, where they are to be learnt, too.

    Raises:
        TrainingError: If the teachers' vectors are not of the tower's length, nothing is left to teach, or
            the rankings are not of the sentences.
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
        ranked: RankedPremises | None = None,
    ) -> None:
        import torch

        if teaching.vectors.shape[1] != tower.dimension or not teaching.sentences:
            raise TrainingError(
                f"expected sentences with vectors of length {tower.dimension} from the teachers, found "
                f"{len(teaching.sentences)} of length {teaching.vectors.shape[1]}"
            )
        if ranked is not None and len(ranked.rankings.positions) != len(teaching.sentences):
            raise TrainingError(
                f"expected a ranking for each of {len(teaching.sentences)} sentences, found "
                f"{len(ranked.rankings.positions)}"
            )
        self.task, self.teaching, self.tower, self.ranked = task, teaching, tower, ranked
        self.weight, self._sentences, self._seed = weight, sentences, seed
        self._lengths = tower.lengths(teaching.sentences)
        self._targets = torch.from_numpy(teaching.vectors).to(tower.device)
        self._premises = torch.from_numpy(ranked.premises).to(tower.device) if ranked else None

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
        """Return the method's loss, the distance to the teachers, and that to their rankings."""
        import torch

        own, taught = batch
        total, terms = self.task.loss(own)
        vectors = self.tower.vectors([self.teaching.sentences[i] for i in taught])  # (sentences, d)
        targets = self._targets[torch.from_numpy(taught).to(vectors.device)]
        distance = 1 - (vectors * targets).sum(dim=1).mean()
        total, terms = total + self.weight * distance, {**terms, "distil": float(distance.detach())}
        if self.ranked is not None:
            divergence = self._divergence(vectors, taught, self.ranked)
            total, terms = (
                total + self.ranked.weight * divergence,
                {
                    **terms,
                    "ranking": float(divergence.detach()),
                },
            )
        return total, terms

    def _divergence(self, vectors: Tensor, taught: Ints, ranked: RankedPremises) -> Tensor:
        import torch

        assert self._premises is not None
        positions = torch.from_numpy(ranked.rankings.positions[taught]).to(vectors.device)  # (sentences, n)
        scores = torch.from_numpy(ranked.rankings.scores[taught]).to(vectors.device)
        similarities = torch.einsum("snd,sd->sn", self._premises[positions], vectors)
        return listwise(similarities, scores, temperature=ranked.temperature).mean()

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Measure as the method does."""
        return self.task.evaluate()

    def state(self) -> Mapping[str, Any]:
        """Return the method's state: what is taught depends on the epoch alone."""
        return self.task.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take it back."""
        self.task.restore(state)
