"""Settings of both stages of entailment tuning; the paper's (Table 6) where a CPU can afford them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from entail.errors import TrainingError
from entail.training.validation import check_values

Prompt = Literal["hypothesis", "full", "question", "plain"]
Tuning = Literal["lora", "full"]
Precision = Literal["auto", "fp32", "bf16"]
Pooled = Literal["base", "mean", "cls"]

_BASE = "Base encoder: minilm, a folder under models/ or a Hub id"
_TUNING = "Trained weights: a low-rank adapter (LoRA), or all"
_RANK = "LoRA rank; equal ranks carry over exactly between both stages"
_DROPOUT = "Dropout in training; default: that of the base"
_PRECISION = "bf16 trains under autocast; auto uses it if it is faster"
_WORDS = "Words of a passage around the first answer; 0: all"
_MAX_LENGTH = "Maximum tokens in training, up to the base's maximum"


@dataclass(frozen=True, kw_only=True)
class TuningConfig:
    """Settings of the first stage, masked hypothesis prediction, such as a row of the paper's Table 5.

    Raises:
        TrainingError: If a value is out of range.
    """

    base: Annotated[str, f"{_BASE}; without a masked-LM head it gets a new one"] = "minilm"
    tuning: Annotated[Tuning, f"{_TUNING}; always the masked-LM head"] = "lora"
    rank: Annotated[int, _RANK] = 32
    prompt: Annotated[
        Prompt,
        "hypothesis: `passage entails that claim`, masks the claim; full: masks all of it; question: "
        "`passage [SEP] question`, masks the question; plain: masked language model over the first, the "
        "control arm",
    ] = "hypothesis"
    beta: Annotated[float | None, "Share of masked tokens; default: 0.8; plain: 0.15, as in BERT"] = None
    words: Annotated[int, _WORDS] = 100
    max_length: Annotated[int, f"{_MAX_LENGTH}; truncates the passage, never the claim"] = 256
    epochs: Annotated[int, "Epochs over the pairs"] = 10
    batch_size: Annotated[int, "Pairs per step"] = 128
    learning_rate: Annotated[
        float | None, "Peak learning rate; default: 2e-5 for all weights, 5e-4 for an adapter"
    ] = None
    head_rate: Annotated[
        float,
        "Peak learning rate of a new masked-LM head; an existing one uses learning_rate",
    ] = 5e-4
    warmup_steps: Annotated[int, "Warm-up steps; then the learning rate falls to 0"] = 100
    weight_decay: Annotated[float, "AdamW weight decay"] = 0.01
    max_gradient_norm: Annotated[float, "Maximum gradient norm; larger gradients are clipped"] = 1.0
    dropout: Annotated[float | None, _DROPOUT] = None
    evaluate_every: Annotated[int, "Steps between dev evaluations within an epoch; 0: none"] = 0
    dev_pairs: Annotated[int, "Dev pairs that select the weights; 0: all"] = 1000
    precision: Annotated[Precision, _PRECISION] = "auto"
    seed: Annotated[int, "Random seed"] = 0

    def __post_init__(self) -> None:
        """Check every value."""
        check_values(
            self,
            at_least=_LOWEST,
            above_zero={
                "learning_rate": self.highest_rate,
                "head_rate": self.head_rate,
                "max_gradient_norm": self.max_gradient_norm,
            },
            not_negative=("weight_decay",),
        )
        if not 0 < self.share <= 1:
            raise TrainingError(f"beta: expected more than 0 and at most 1, found {self.share}")

    @property
    def highest_rate(self) -> float:
        """Learning rate after warm-up."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 5e-4 if self.tuning == "lora" else 2e-5

    @property
    def share(self) -> float:
        """Share of tokens that are masked."""
        if self.beta is not None:
            return self.beta
        return 0.15 if self.prompt == "plain" else 0.8


@dataclass(frozen=True, kw_only=True)
class DprConfig:
    """Settings of the second, contrastive stage.

    Raises:
        TrainingError: If a value is out of range, or two exclude each other.
    """

    base: Annotated[str, f"{_BASE}, or a fully tuned model"] = "minilm"
    initial: Annotated[
        str, "Initial adapter on the same base, such as one of `entail train tuning`; default: none"
    ] = ""
    tuning: Annotated[Tuning, _TUNING] = "lora"
    rank: Annotated[int, _RANK] = 32
    pooling: Annotated[
        Pooled,
        "Pooling: as in the base, mean of tokens, or [CLS] (paper); the latter two replace the base's "
        "pooling and need tuning=full",
    ] = "base"
    negatives: Annotated[
        int,
        "Hard negatives per question and step; 0: in-batch negatives only",
    ] = 1
    depth: Annotated[
        int,
        "BM25 passages that provide hard negatives for questions without any; 0: only those of the file",
    ] = 20
    temperature: Annotated[float, "Temperature of cosines; the paper uses inner products"] = 0.05
    words: Annotated[int, _WORDS] = 100
    max_length: Annotated[int, _MAX_LENGTH] = 256
    epochs: Annotated[int, "Epochs over the questions; paper: 40 on NQ, 2 on MS MARCO"] = 2
    batch_size: Annotated[int, "Questions per step"] = 128
    learning_rate: Annotated[
        float | None, "Peak learning rate; default: 1e-5 for all weights, 2e-4 for an adapter"
    ] = None
    warmup_steps: Annotated[int, "Warm-up steps, at most a tenth of all; then the learning rate falls"] = 100
    weight_decay: Annotated[float, "AdamW weight decay"] = 0.01
    max_gradient_norm: Annotated[float, "Maximum gradient norm; larger gradients are clipped"] = 1.0
    dropout: Annotated[float | None, _DROPOUT] = None
    evaluate_every: Annotated[int, "Steps between dev evaluations within an epoch; 0: none"] = 0
    dev_questions: Annotated[int, "Dev questions that select the weights; 0: all"] = 500
    precision: Annotated[Precision, _PRECISION] = "auto"
    seed: Annotated[int, "Random seed"] = 0

    def __post_init__(self) -> None:
        """Check every value."""
        check_values(
            self,
            at_least={**_LOWEST, "negatives": 0, "depth": 0},
            above_zero={
                "learning_rate": self.highest_rate,
                "temperature": self.temperature,
                "max_gradient_norm": self.max_gradient_norm,
            },
            not_negative=("weight_decay",),
        )
        if self.pooling != "base" and self.tuning != "full":
            raise TrainingError(
                f"pooling={self.pooling} needs tuning=full, found tuning={self.tuning}: an adapter keeps the "
                "pooling of its base"
            )
        if self.initial and self.tuning != "lora":
            raise TrainingError(
                "an initial adapter (initial) needs tuning=lora; give a model that was trained whole as base"
            )

    @property
    def highest_rate(self) -> float:
        """Learning rate after warm-up."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 2e-4 if self.tuning == "lora" else 1e-5


_LOWEST: Mapping[str, Any] = {
    "rank": 1,
    "epochs": 1,
    "batch_size": 2,
    "words": 0,
    "max_length": 8,
    "warmup_steps": 0,
    "evaluate_every": 0,
}
