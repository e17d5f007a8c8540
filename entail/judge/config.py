"""Settings of the training of a judge of entailment; the defaults are the recipe of `models/nli-minilm`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt

from entail.training.config import TrainingConfig


@dataclass(frozen=True, kw_only=True)
class JudgeConfig(TrainingConfig):
    """Settings of the training of a cross-encoder on natural language inference.

    Raises:
        TrainingError: If a value is out of range.
    """

    initial: Annotated[str, "Judge on the same base to start from; default: none"] = ""
    rank: Annotated[int, Ge(1), "LoRA rank"] = 40
    dropout: Annotated[float | None, Ge(0), Lt(1), "Dropout in training; default: that of the base"] = 0.0
    epochs: Annotated[int, Ge(1), "Epochs over the training data"] = 2
    max_length: Annotated[int, Ge(8), "Maximum tokens of a pair in training; truncates the premise"] = 128
    smoothing: Annotated[float, Ge(0), Lt(1), "Label smoothing"] = 0.0
    batch_size: Annotated[int, Ge(1), "Pairs per step"] = 32
    warmup: Annotated[
        float, Ge(0), Le(1), "Share of steps with a rising learning rate; then it falls to 0"
    ] = 0.06
    max_gradient_norm: Annotated[float, Gt(0), "Maximum gradient norm; larger gradients are clipped"] = 1.0
    evaluate_every: Annotated[int, Ge(0), "Steps between dev evaluations within an epoch; 0: none"] = 500
    dev_pairs: Annotated[int, Ge(0), "Dev pairs that select the weights; 0: all"] = 2000
