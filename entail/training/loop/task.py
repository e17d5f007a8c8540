"""Interface between a method and the training loop: task, schedule, events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Evaluated:
    """Evaluation after `epoch` epochs, 0 for untrained weights; the highest score selects the weights."""

    epoch: int
    score: float
    figures: Mapping[str, float]
    seconds: float
    step: int = 0


@dataclass(frozen=True)
class Event:
    """Event of the training loop: loss terms, learning rate and diagnostics of a step, or an evaluation."""

    step: int
    steps: int
    epoch: int
    terms: Mapping[str, float] = field(default_factory=dict)
    learning_rate: float = 0.0
    evaluated: Evaluated | None = None


Watch = Callable[[Event], None]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Schedule of AdamW: linear warm-up over a share of all steps, linear decay to 0.

    `evaluate_steps` lie between two evaluations within an epoch, 0 for none; `checkpoint_seconds` between two
    checkpoints, 0 for one after every step. Every epoch ends with both.
    """

    epochs: int
    learning_rate: float
    warmup: float = 0.05
    weight_decay: float = 0.0
    max_gradient_norm: float = 1.0
    evaluate_steps: int = 0
    checkpoint_seconds: float = 30.0
    seed: int = 0


class Task(Protocol):
    """Task of a method: batches, loss, evaluation."""

    def begin_epoch(self, epoch: int) -> None:
        """Prepare an epoch, once; results that depend on the weights belong into `state`."""

    def batches(self, epoch: int) -> Sequence[Any]:
        """Return the batches of an epoch, the same for the same epoch and state."""

    def steps(self, epochs: int) -> int:
        """Return the number of batches in all, for the schedule."""

    def loss(self, batch: Any) -> tuple[Tensor, Mapping[str, float]]:
        """Return the loss, and its terms and diagnostics by name."""

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights; None without dev data."""

    def state(self) -> Mapping[str, Any]:
        """Return the state for a checkpoint, as JSON values."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
