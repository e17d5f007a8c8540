"""Settings of an ARCF training; the defaults are the recipe of `models/arcf-minilm`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Lt

from entail.errors import TrainingError
from entail.training.config import TrainingConfig

Loss = Literal["ranknet", "nce"]
Architecture = Literal["cross", "bi"]


@dataclass(frozen=True, kw_only=True)
class ArcfConfig(TrainingConfig):
    """Settings of a training.

    Raises:
        TrainingError: If a value is out of range, or two do not go together.
    """

    RATES: ClassVar = {"lora": 5e-4, "full": 2e-5}

    rank: Annotated[int, Ge(1), "LoRA rank"] = 24
    dropout: Annotated[float | None, Ge(0), Lt(1), "Dropout in training; default: that of the base"] = 0.0
    epochs: Annotated[int, Ge(1), "Epochs over the training data"] = 12
    loss: Annotated[Loss, "ranknet: pairwise; nce: one positive among all negatives"] = "nce"
    architecture: Annotated[
        Architecture,
        "cross: one cross-encoder reads prefix and candidate; bi: an adapter encodes the prefix, the base "
        "each candidate, once",
    ] = "bi"
    shared_pieces: Annotated[float, Ge(0), "Initial weight of shared word pieces; 0: none"] = 8.0
    power: Annotated[
        float,
        Ge(0),
        "Initial weight of a fact's explanatory power for similar questions; 0: none",
    ] = 4.0
    similarity: Annotated[float, Ge(0), "Initial weight of lexical similarity to the question; 0: none"] = 6.0
    k: Annotated[int, Ge(1), "Visible facts: the nearest to the question or to a chosen fact"] = 180
    metric: Annotated[str, "Similarity of facts: tfidf, or a retriever such as bm25, minilm"] = "tfidf"
    prefixes_a_step: Annotated[int, Ge(1), "Prefixes per step"] = 32
    batch_tokens: Annotated[
        int, Ge(64), "Maximum tokens of a prefix's samples; further negatives are dropped"
    ] = 5000
    token_budget: Annotated[int, Ge(0), "Total training tokens; 0: given by the epochs"] = 9_000_000
    max_length: Annotated[int, Ge(16), "Maximum tokens of a sample, up to the base's maximum"] = 256
    learning_rate: Annotated[
        float | None, Gt(0), "Peak learning rate; default: 2e-5 for all weights, 5e-4 for an adapter"
    ] = None
    warmup: Annotated[
        float, Ge(0), Le(1), "Share of steps with a rising learning rate; then it falls to 0"
    ] = 0.02
    dev_questions: Annotated[int, Ge(0), "Dev questions that select the weights; 0: all"] = 40
    evaluate_every: Annotated[int, Ge(0), "Steps between dev evaluations within an epoch; 0: none"] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.architecture == "bi" and self.tuning != "lora":
            raise TrainingError(
                "architecture=bi needs tuning=lora: the base encodes candidates, an adapter on it prefixes"
            )


PAPER = ArcfConfig(
    base="distilbert/distilroberta-base",
    tuning="full",
    dropout=None,
    epochs=4,
    loss="ranknet",
    architecture="cross",
    shared_pieces=0,
    power=0,
    similarity=0,
    prefixes_a_step=1,
    token_budget=0,
    max_length=512,
    learning_rate=2e-5,
    warmup=0,
    dev_questions=0,
)
"""Setting of Cartuyvels et al. 2020 for WorldTree 2020, without conditional noise, which gained nothing.

The paper does not say how many prefixes a question has in an epoch (here one), how many tokens a row has, nor
whether gradients are clipped; its inference has k = 290.
"""
