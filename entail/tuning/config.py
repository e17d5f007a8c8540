"""Settings of both stages of entailment tuning: the recipe of the packaged pair, and the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Lt

from entail.encoders.weights import Similarity
from entail.errors import TrainingError
from entail.training.config import TrainingConfig

Pooled = Literal["base", "cls"]
Towers = Literal["siamese", "dual"]


@dataclass(frozen=True, kw_only=True)
class PassageConfig(TrainingConfig):
    """Settings that both stages share."""

    dropout: Annotated[float | None, Ge(0), Lt(1), "Dropout in training; none: that of the base"] = 0.0
    words: Annotated[
        int, Ge(0), "Words of a passage, around the first answer; hard negatives are cut there too; 0: all"
    ] = 100
    max_length: Annotated[
        int, Ge(8), "Maximum tokens in training, up to the base's maximum; truncates passages, never claims"
    ] = 128
    epochs: Annotated[int, Ge(1), "Epochs over the questions"] = 1
    batch_size: Annotated[int, Ge(2), "Questions or pairs per step"] = 128
    warmup_steps: Annotated[int, Ge(0), "Warm-up steps; then the learning rate falls to 0"] = 20
    max_gradient_norm: Annotated[float, Gt(0), "Maximum gradient norm; larger gradients are clipped"] = 1.0
    evaluate_every: Annotated[int, Ge(0), "Steps between dev evaluations within an epoch; 0: none"] = 0


@dataclass(frozen=True, kw_only=True)
class TuningConfig(PassageConfig):
    """Settings of the first stage, masked hypothesis prediction."""

    RATES: ClassVar = {"lora": 5e-4, "full": 2e-5}

    beta: Annotated[float, Gt(0), Le(1), "Share of masked tokens of a claim"] = 0.8
    dev_pairs: Annotated[int, Ge(0), "Dev pairs that select the weights; 0: all"] = 1000


@dataclass(frozen=True, kw_only=True)
class DprConfig(PassageConfig):
    """Settings of the second, contrastive stage.

    Raises:
        TrainingError: If a value is out of range, or two exclude each other.
    """

    RATES: ClassVar = {"lora": 2e-4, "full": 1e-5}

    initial: Annotated[
        str, "Initial adapter on the same base, such as one of `entail train tuning`; default: none"
    ] = ""
    pooling: Annotated[Pooled, "As in the base, or [CLS] (paper), which needs tuning=full"] = "base"
    towers: Annotated[Towers, "siamese: one tower for questions and passages; dual: one for each (paper)"] = (
        "siamese"
    )
    negatives: Annotated[int, Ge(0), "Hard negatives per question and step; 0: in-batch negatives only"] = 1
    depth: Annotated[
        int, Ge(0), "BM25 passages from which questions without hard negatives get some; 0: none"
    ] = 20
    similarity: Annotated[
        Similarity,
        "cosine, or dot: the inner product of vectors that keep their lengths (paper); needs tuning=full",
    ] = "cosine"
    temperature: Annotated[float, Gt(0), "Temperature of similarities; with dot: 1 (paper)"] = 0.05
    warmup_steps: Annotated[
        int, Ge(0), "Warm-up steps, at most a tenth of all; then the learning rate falls"
    ] = 100
    dev_questions: Annotated[int, Ge(0), "Dev questions that select the weights; 0: all"] = 500

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if self.tuning != "full" and (self.pooling, self.similarity) != ("base", "cosine"):
            raise TrainingError(
                f"pooling={self.pooling} and similarity={self.similarity} need tuning=full, found "
                f"tuning={self.tuning}: an adapter keeps the pooling of its base, and is compared by cosine"
            )
        if self.initial and self.tuning != "lora":
            raise TrainingError(
                "an initial adapter (initial) needs tuning=lora; give a model that was trained whole as base"
            )


PAPER = TuningConfig(
    base="google-bert/bert-base-uncased",
    tuning="full",
    dropout=None,
    beta=0.8,
    words=100,
    max_length=256,
    epochs=10,
    batch_size=128,
    learning_rate=2e-5,
    weight_decay=0.01,
    warmup_steps=100,
    max_gradient_norm=1.0,
    dev_pairs=0,
)
"""First stage of Dai et al. 2024: their Table 6, and the best row of their Table 5."""

DPR_PAPER = DprConfig(
    base=PAPER.base,
    tuning="full",
    dropout=None,
    pooling="cls",
    towers="dual",
    negatives=1,
    depth=100,
    similarity="dot",
    temperature=1.0,
    words=100,
    max_length=256,
    epochs=40,
    batch_size=128,
    learning_rate=1e-5,
    warmup_steps=100,
    dev_questions=0,
)
"""Second stage, as in DPR (Karpukhin et al. 2020) on Natural Questions; on MS MARCO it trains 2 epochs.

`base` names the first stage's folder, where there is one.
"""
