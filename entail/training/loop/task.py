"""Interface between a method and the training loop, and the events of the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Evaluated:
    """One evaluation during training.

    Attributes:
        epoch: Number of finished epochs, 0 for the untrained weights.
        score: Score that selects the weights; higher is better.
        seconds: Duration of the training so far, evaluations included.
    """

    epoch: int
    score: float
    figures: Mapping[str, float]
    seconds: float
    step: int = 0


@dataclass(frozen=True)
class Event:
    """Event of the training loop: loss terms, learning rate and diagnostics of a step, or a warning."""

    step: int
    steps: int
    epoch: int
    terms: Mapping[str, float] = field(default_factory=dict)
    learning_rate: float = 0.0
    evaluated: Evaluated | None = None
    warning: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)


Watch = Callable[[Event], None]


class Task(Protocol):
    """Task of a method: batches, loss, evaluation."""

    def begin_epoch(self, epoch: int) -> None:
        """Prepare an epoch, once; results that depend on the weights belong into `state`."""

    def batches(self, epoch: int) -> Sequence[Any]:
        """Return the batches of an epoch, the same for the same epoch and state."""

    def steps(self, epochs: int) -> int:
        """Return the number of batches in all, for the schedule."""

    def share(self, batch: Any, *, rank: int, size: int) -> Any:  # noqa: ANN401 - the task's own
        """Return the part of a batch for one of several processes."""

    def loss(self, batch: Any) -> tuple[Tensor, Mapping[str, float]]:  # noqa: ANN401 - the task's own
        """Return the loss, and its terms and diagnostics by name."""

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights; None without dev data.

        Of several processes only the first one calls it.
        """

    def state(self) -> Mapping[str, Any]:
        """Return the state for a checkpoint, as JSON values."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
