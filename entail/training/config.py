"""Settings of every training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Lt

from entail.errors import TrainingError
from entail.training.fields import check_values
from entail.training.loop.task import Schedule

Tuning = Literal["lora", "full"]
Precision = Literal["auto", "fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Settings of every training; the configuration of a method adds its own and changes defaults.

    The range of a number is part of its annotation: ``rank: Annotated[int, Ge(1), "LoRA rank"]``.

    Raises:
        TrainingError: If a value is out of range, not finite, or none of the choices; names the field.
    """

    RATES: ClassVar[Mapping[Tuning, float]] = {"lora": 5e-4, "full": 5e-5}
    """Default peak learning rate."""

    base: Annotated[str, "Base encoder: minilm, a folder under models/ or a Hub id"] = "minilm"
    tuning: Annotated[Tuning, "Trained weights: a low-rank adapter (LoRA), or all; always a new head"] = (
        "lora"
    )
    rank: Annotated[int, Ge(1), "LoRA rank"] = 32
    dropout: Annotated[float | None, Ge(0), Lt(1), "Dropout in training; default: that of the base"] = None
    epochs: Annotated[int, Ge(1), "Epochs over the training data"] = 4
    learning_rate: Annotated[
        float | None, Gt(0), "Peak learning rate; default: 5e-5 for all weights, 5e-4 for an adapter"
    ] = None
    weight_decay: Annotated[float, Ge(0), "AdamW weight decay"] = 0.01
    precision: Annotated[Precision, "bf16 trains under autocast; auto uses it if it is faster"] = "auto"
    seed: Annotated[int, "Random seed"] = 0

    def __post_init__(self) -> None:
        check_values(self, TrainingError)

    @property
    def highest_rate(self) -> float:
        """Learning rate after warm-up."""
        return self.RATES[self.tuning] if self.learning_rate is None else self.learning_rate

    # Settings of some methods only: a field of this name takes the place of the property.

    @property
    def warmup(self) -> float:
        """Share of all steps with a rising learning rate."""
        return Schedule.warmup

    @property
    def max_gradient_norm(self) -> float:
        """Maximum gradient norm; larger gradients are clipped."""
        return Schedule.max_gradient_norm

    @property
    def evaluate_every(self) -> int:
        """Steps between dev evaluations within an epoch; 0: none."""
        return Schedule.evaluate_steps
