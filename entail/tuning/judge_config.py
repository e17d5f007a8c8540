"""The settings of a training of a judge of entailment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from entail.errors import TrainingError
from entail.training.settings import check_values

Tuning = Literal["lora", "full"]
Precision = Literal["auto", "fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """How a cross-encoder learns natural language inference; what a field is stands in its annotation.

    Raises:
        TrainingError: If a value cannot be.
    """

    base: Annotated[str, "encoder to start from: minilm, a folder under models/ or a Hub id"] = "minilm"
    tuning: Annotated[Tuning, "train a low-rank adapter (LoRA), or every weight; the head always"] = "lora"
    rank: Annotated[int, "rank of the adapter"] = 40
    longest: Annotated[int, "tokens of a pair that are read while training; the premise is cut"] = 128
    smoothing: Annotated[float, "share of each label that is spread over all three"] = 0.0
    epochs: Annotated[int, "times through the pairs"] = 4
    batch_size: Annotated[int, "pairs a step"] = 32
    learning_rate: Annotated[
        float | None, "highest learning rate; default: 5e-5 for every weight, 5e-4 for an adapter"
    ] = None
    warmup: Annotated[float, "share of all steps in which the rate rises; then it falls to 0"] = 0.06
    weight_decay: Annotated[float, "of AdamW"] = 0.01
    max_gradient_norm: Annotated[float, "longer gradients are cut to this length"] = 1.0
    dropout: Annotated[float | None, "dropout while training; default: as the base has it"] = None
    evaluate_every: Annotated[int, "steps between two evaluations on dev within an epoch; 0 for none"] = 500
    dev_pairs: Annotated[int, "pairs of dev that the best weights are chosen on; 0 for all"] = 2000
    precision: Annotated[Precision, "bf16 computes under autocast; auto takes it where it pays"] = "auto"
    seed: Annotated[int, "of everything random"] = 0

    def __post_init__(self) -> None:
        """Check every value."""
        check_values(
            self,
            at_least={
                "rank": 1,
                "longest": 8,
                "epochs": 1,
                "batch_size": 1,
                "evaluate_every": 0,
                "dev_pairs": 0,
            },
            above_zero={
                "learning_rate": self.highest_rate,
                "max_gradient_norm": self.max_gradient_norm,
            },
            not_negative=("weight_decay", "smoothing", "warmup"),
            choices={"tuning": Tuning, "precision": Precision},
        )
        if self.smoothing >= 1 or self.warmup > 1:
            raise TrainingError(
                "expected a smoothing below 1 and a warmup of 1 at most, found "
                f"{self.smoothing}, {self.warmup}"
            )

    @property
    def highest_rate(self) -> float:
        """The learning rate at its highest."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 5e-4 if self.tuning == "lora" else 5e-5
