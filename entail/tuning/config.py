"""Settings of both stages of entailment tuning: the recipe of the packaged pair, and the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Lt

from entail.encoders.weights import Similarity
from entail.errors import TrainingError
from entail.training.config import TrainingConfig

Prompt = Literal["hypothesis", "full", "question", "plain"]
Pooled = Literal["base", "cls"]
Towers = Literal["siamese", "dual"]

_RANK = "LoRA rank; equal ranks carry over exactly between both stages"
_DROPOUT = "Dropout in training; none: that of the base"
_WORDS = "Words of a passage, around the first answer; hard negatives are cut at the same place; 0: all"
_MAX_LENGTH = "Maximum tokens in training, up to the base's maximum"


@dataclass(frozen=True, kw_only=True)
class TuningConfig(TrainingConfig):
    """Settings of the first stage, masked hypothesis prediction, such as a row of the paper's Table 5.

    Raises:
        TrainingError: If a value is out of range.
    """

    RATES: ClassVar = {"lora": 5e-4, "full": 2e-5}

    base: Annotated[
        str,
        "Base encoder: minilm, a folder under models/ or a Hub id; one without a masked-LM head gets a new "
        "one",
    ] = "minilm"
    rank: Annotated[int, Ge(1), _RANK] = 32
    prompt: Annotated[
        Prompt,
        "hypothesis: `passage entails that claim`, masks the claim; full: masks all of it; question: "
        "`passage [SEP] question`, masks the question; plain: masked language model over the first, the "
        "control arm",
    ] = "hypothesis"
    beta: Annotated[float, Gt(0), Le(1), "Share of masked tokens; for plain as in BERT: 0.15"] = 0.8
    dropout: Annotated[float | None, Ge(0), Lt(1), _DROPOUT] = 0.0
    words: Annotated[int, Ge(0), _WORDS] = 100
    max_length: Annotated[int, Ge(8), f"{_MAX_LENGTH}; truncates the passage, never the claim"] = 128
    epochs: Annotated[int, Ge(1), "Epochs over the pairs"] = 1
    batch_size: Annotated[int, Ge(2), "Pairs per step"] = 128
    learning_rate: Annotated[
        float | None, Gt(0), "Peak learning rate; default: 2e-5 for all weights, 5e-4 for an adapter"
    ] = None
    warmup_steps: Annotated[int, Ge(0), "Warm-up steps; then the learning rate falls to 0"] = 20
    max_gradient_norm: Annotated[float, Gt(0), "Maximum gradient norm; larger gradients are clipped"] = 1.0
    evaluate_every: Annotated[int, Ge(0), "Steps between dev evaluations within an epoch; 0: none"] = 0
    dev_pairs: Annotated[int, Ge(0), "Dev pairs that select the weights; 0: all"] = 1000


@dataclass(frozen=True, kw_only=True)
class DprConfig(TrainingConfig):
    """Settings of the second, contrastive stage.

    Raises:
        TrainingError: If a value is out of range, or two exclude each other.
    """

    RATES: ClassVar = {"lora": 2e-4, "full": 1e-5}

    base: Annotated[
        str, "Base encoder: minilm, a folder under models/ or a Hub id, or a fully tuned model"
    ] = "minilm"
    initial: Annotated[
        str, "Initial adapter on the same base, such as one of `entail train tuning`; default: none"
    ] = ""
    rank: Annotated[int, Ge(1), _RANK] = 32
    pooling: Annotated[
        Pooled,
        "Pooling: as in the base, or [CLS] (paper), which replaces that of the base and needs tuning=full",
    ] = "base"
    towers: Annotated[Towers, "siamese: one tower for questions and passages; dual: one for each (paper)"] = (
        "siamese"
    )
    negatives: Annotated[
        int,
        Ge(0),
        "Hard negatives per question and step; 0: in-batch negatives only",
    ] = 1
    depth: Annotated[
        int,
        Ge(0),
        "BM25 passages that provide hard negatives for questions without any; 0: only those of the file",
    ] = 20
    similarity: Annotated[
        Similarity,
        "cosine, or dot: the inner product of vectors that keep their lengths (paper); needs tuning=full",
    ] = "cosine"
    temperature: Annotated[float, Gt(0), "Temperature of similarities; with dot: 1 (paper)"] = 0.05
    dropout: Annotated[float | None, Ge(0), Lt(1), _DROPOUT] = 0.0
    words: Annotated[int, Ge(0), _WORDS] = 100
    max_length: Annotated[int, Ge(8), _MAX_LENGTH] = 128
    epochs: Annotated[int, Ge(1), "Epochs over the questions; paper: 40 on NQ, 2 on MS MARCO"] = 1
    batch_size: Annotated[int, Ge(2), "Questions per step"] = 128
    learning_rate: Annotated[
        float | None, Gt(0), "Peak learning rate; default: 1e-5 for all weights, 2e-4 for an adapter"
    ] = None
    warmup_steps: Annotated[
        int, Ge(0), "Warm-up steps, at most a tenth of all; then the learning rate falls"
    ] = 100
    max_gradient_norm: Annotated[float, Gt(0), "Maximum gradient norm; larger gradients are clipped"] = 1.0
    evaluate_every: Annotated[int, Ge(0), "Steps between dev evaluations within an epoch; 0: none"] = 0
    dev_questions: Annotated[int, Ge(0), "Dev questions that select the weights; 0: all"] = 500

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if self.pooling != "base" and self.tuning != "full":
            raise TrainingError(
                f"pooling={self.pooling} needs tuning=full, found tuning={self.tuning}: an adapter keeps the "
                "pooling of its base"
            )
        if self.similarity != "cosine" and self.tuning != "full":
            raise TrainingError(
                f"similarity={self.similarity} needs tuning=full, found tuning={self.tuning}: an adapter is "
                "compared by cosine"
            )
        if self.initial and self.tuning != "lora":
            raise TrainingError(
                "an initial adapter (initial) needs tuning=lora; give a model that was trained whole as base"
            )


PAPER = TuningConfig(
    base="google-bert/bert-base-uncased",
    tuning="full",
    dropout=None,
    prompt="hypothesis",
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
"""Second stage, as in DPR (Karpukhin et al. 2020) on Natural Questions.

`base` names the first stage's folder, where there is one; on MS MARCO the paper trains 2 epochs.
"""
