"""Settings of the training of a re-ranker; the defaults are the recipe of `models/reranker-minilm`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le

from entail.training.config import TrainingConfig


@dataclass(frozen=True, kw_only=True)
class RerankerConfig(TrainingConfig):
    """Settings of the training of a cross-encoder on the lists of a retriever.

    Raises:
        TrainingError: If a value is out of range.
    """

    retriever: Annotated[str, "Retriever whose lists it learns to order"] = "aeenc-minilm+bm25"
    rank: Annotated[int, Ge(1), "LoRA rank"] = 40
    epochs: Annotated[int, Ge(1), "Epochs over the training data"] = 3
    batch_size: Annotated[int, Ge(1), "Queries per step"] = 16
    negatives: Annotated[int, Ge(1), "Negatives per query and epoch, sampled from its nearest premises"] = 5
    nearest: Annotated[int, Ge(1), "Nearest premises that negatives are sampled from"] = 50
    max_length: Annotated[int, Ge(8), "Maximum tokens of premise and query; truncates the premise"] = 96
    dropout: Annotated[float | None, Ge(0), "Dropout in training; default: that of the base"] = 0.1
    warmup: Annotated[
        float, Ge(0), Le(1), "Share of steps with a rising learning rate; then it falls to 0"
    ] = 0.06
    max_gradient_norm: Annotated[float, Gt(0), "Maximum gradient norm; larger gradients are clipped"] = 1.0
    weight: Annotated[float, Ge(0), "Weight of its score relative to the retriever's"] = 0.04
    depth: Annotated[int, Ge(1), "Nearest premises that it reads when it ranks"] = 64
    dev_queries: Annotated[int, Ge(0), "Dev queries that select the weights; 0: all"] = 200
