"""What a method gives to the training loop, and what the loop tells whoever watches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Evaluated:
    """One evaluation while training.

    Attributes:
        epoch: Epochs done, 0 for the untrained weights.
        score: What the best weights are chosen by; higher is better.
        figures: Whatever else was measured.
        seconds: Of training so far, evaluations included.
        step: Steps done.
    """

    epoch: int
    score: float
    figures: Mapping[str, float]
    seconds: float
    step: int = 0


@dataclass(frozen=True)
class Event:
    """What a step tells whoever watches: loss terms, learning rate, diagnostics, or a warning in words."""

    step: int
    steps: int
    epoch: int
    terms: Mapping[str, float] = field(default_factory=dict)
    learning_rate: float = 0.0
    evaluated: Evaluated | None = None
    warning: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return asdict(self)


Watch = Callable[[Event], None]


class Task(Protocol):
    """What a method gives to the loop."""

    def begin_epoch(self, epoch: int) -> None:
        """Prepare an epoch, once: what depends on the weights is remembered by `state`."""
        ...

    def batches(self, epoch: int) -> Sequence[Any]:
        """Return the batches of an epoch; the same again for the same epoch and state."""
        ...

    def steps(self, epochs: int) -> int:
        """Return how many batches there will be in all, for the schedule."""
        ...

    def share(self, batch: Any, *, rank: int, size: int) -> Any:  # noqa: ANN401 - the task's own
        """Return the part of a batch that one of several processes takes."""
        ...

    def loss(self, batch: Any) -> tuple[Tensor, Mapping[str, float]]:  # noqa: ANN401 - the task's own
        """Return the loss to go down on, and terms and diagnostics by name."""
        ...

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Measure the weights as they are; None where there is nothing to measure on.

        Of several processes the first alone is asked.
        """
        ...

    def state(self) -> Mapping[str, Any]:
        """Return what the task must remember in a checkpoint, of JSON's types."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` returned."""
        ...
