"""Settings of the training of a reader; the defaults are the recipe of `models/reader-minilm`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt

from entail.training.config import TrainingConfig


@dataclass(frozen=True, kw_only=True)
class ReaderConfig(TrainingConfig):
    """Settings of the training of a reader.

    Raises:
        TrainingError: If a value is out of range.
    """

    rank: Annotated[int, Ge(1), "LoRA rank"] = 48
    dropout: Annotated[float | None, Ge(0), Lt(1), "Dropout in training; default: that of the base"] = 0.0
    epochs: Annotated[int, Ge(1), "Epochs over the training data"] = 1
    learning_rate: Annotated[
        float | None, Gt(0), "Peak learning rate; default: 5e-5 for all weights, 5e-4 for an adapter"
    ] = 7e-4
    max_length: Annotated[int, Ge(16), "Maximum tokens of a question and a window of a passage"] = 256
    negatives: Annotated[
        float,
        Ge(0),
        Le(1),
        "Share of the questions that are also read with a passage that does not answer them",
    ] = 0.5
    batch_size: Annotated[int, Ge(1), "Windows per step"] = 32
    warmup: Annotated[
        float, Ge(0), Le(1), "Share of steps with a rising learning rate; then it falls to 0"
    ] = 0.06
    max_gradient_norm: Annotated[float, Gt(0), "Maximum gradient norm; larger gradients are clipped"] = 1.0
    evaluate_every: Annotated[int, Ge(0), "Steps between dev evaluations within an epoch; 0: none"] = 0
    dev_questions: Annotated[int, Ge(0), "Dev questions that select the weights; 0: all"] = 1000
