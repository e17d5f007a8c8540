"""Settings of the training of a judge of entailment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from entail.errors import TrainingError
from entail.training.validation import check_values

Tuning = Literal["lora", "full"]
Precision = Literal["auto", "fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """Settings of the training of a cross-encoder on natural language inference.

    Raises:
        TrainingError: If a value is out of range.
    """

    base: Annotated[str, "Base encoder: minilm, a folder under models/ or a Hub id"] = "minilm"
    tuning: Annotated[Tuning, "Trained weights: a low-rank adapter (LoRA), or all; always the head"] = "lora"
    rank: Annotated[int, "LoRA rank"] = 40
    max_length: Annotated[int, "Maximum tokens of a pair in training; truncates the premise"] = 128
    smoothing: Annotated[float, "Label smoothing"] = 0.0
    epochs: Annotated[int, "Epochs over the pairs"] = 4
    batch_size: Annotated[int, "Pairs per step"] = 32
    learning_rate: Annotated[
        float | None, "Peak learning rate; default: 5e-5 for all weights, 5e-4 for an adapter"
    ] = None
    warmup: Annotated[float, "Share of steps with a rising learning rate; then it falls to 0"] = 0.06
    weight_decay: Annotated[float, "AdamW weight decay"] = 0.01
    max_gradient_norm: Annotated[float, "Maximum gradient norm; larger gradients are clipped"] = 1.0
    dropout: Annotated[float | None, "Dropout in training; default: that of the base"] = None
    evaluate_every: Annotated[int, "Steps between dev evaluations within an epoch; 0: none"] = 500
    dev_pairs: Annotated[int, "Dev pairs that select the weights; 0: all"] = 2000
    precision: Annotated[Precision, "bf16 trains under autocast; auto uses it if it is faster"] = "auto"
    seed: Annotated[int, "Random seed"] = 0

    def __post_init__(self) -> None:
        check_values(
            self,
            at_least={
                "rank": 1,
                "max_length": 8,
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
        )
        if self.smoothing >= 1 or self.warmup > 1:
            raise TrainingError(
                "expected a smoothing below 1 and a warmup of 1 at most, found "
                f"{self.smoothing}, {self.warmup}"
            )

    @property
    def highest_rate(self) -> float:
        """Highest learning rate."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 5e-4 if self.tuning == "lora" else 5e-5
