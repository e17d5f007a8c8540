"""The settings of both stages of entailment tuning, the paper's where a processor can bear them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from entail.errors import TrainingError
from entail.training.settings import check_values

Prompt = Literal["hypothesis", "full", "question", "plain"]
Tuning = Literal["lora", "full"]
Precision = Literal["auto", "fp32", "bf16"]
Pooled = Literal["base", "mean", "cls"]

_BASE = "encoder to start from: minilm, a folder under models/ or a Hub id"
_TUNING = "train a low-rank adapter (LoRA), or every weight"
_RANK = "rank of the adapter; both stages need the same to carry it over exactly"
_DROPOUT = "dropout while training; default: as the base has it"
_PRECISION = "bf16 computes under autocast; auto takes it where it pays"
_WORDS = "words of a passage that are read, around the first answer; 0: all of them"
_LONGEST = "tokens that are read while training, at most what the base reads"


@dataclass(frozen=True, kw_only=True)
class TuningConfig:
    """One row of the paper's Table 5, or of ours; what a field is stands in its annotation.

    Raises:
        TrainingError: If a value cannot be, or two do not go together.
    """

    base: Annotated[str, f"{_BASE}; with a masked-LM head it keeps it, else it gets a new one"] = "minilm"
    tuning: Annotated[Tuning, f"{_TUNING}; the masked-LM head always"] = "lora"
    rank: Annotated[int, _RANK] = 32
    prompt: Annotated[
        Prompt,
        "hypothesis: `passage entails that claim`, the claim masked; full: all of that masked; question: "
        "`passage [SEP] question`, the question masked; plain: BERT's own masked language model over the "
        "first, the control arm",
    ] = "hypothesis"
    beta: Annotated[
        float | None, "share of tokens that are masked; default: 0.8, of plain 0.15 as in BERT"
    ] = None
    words: Annotated[int, _WORDS] = 100
    longest: Annotated[int, f"{_LONGEST}; the passage is cut, never the claim"] = 256
    epochs: Annotated[int, "times through the pairs"] = 10
    batch_size: Annotated[int, "pairs a step"] = 128
    learning_rate: Annotated[
        float | None, "highest learning rate; default: 2e-5 for every weight, 5e-4 for an adapter"
    ] = None
    head_rate: Annotated[
        float,
        "highest learning rate of a masked-LM head that is new; one that the base has learns as the rest",
    ] = 5e-4
    warmup_steps: Annotated[int, "steps in which the rate rises; then it falls to 0"] = 100
    weight_decay: Annotated[float, "of AdamW"] = 0.01
    max_gradient_norm: Annotated[float, "longer gradients are cut to this length"] = 1.0
    dropout: Annotated[float | None, _DROPOUT] = None
    evaluate_every: Annotated[int, "steps between two evaluations on dev within an epoch; 0 for none"] = 0
    dev_pairs: Annotated[int, "pairs of dev that the weights are chosen on; 0 for all"] = 1000
    precision: Annotated[Precision, _PRECISION] = "auto"
    seed: Annotated[int, "of everything random"] = 0

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
            choices={"tuning": Tuning, "prompt": Prompt, "precision": Precision},
        )
        if not 0 < self.share <= 1:
            raise TrainingError(f"beta: expected more than 0 and at most 1, found {self.share}")

    @property
    def highest_rate(self) -> float:
        """The learning rate at its highest."""
        return _rate(self.learning_rate, 5e-4 if self.tuning == "lora" else 2e-5)

    @property
    def share(self) -> float:
        """Share of tokens that are masked."""
        if self.beta is not None:
            return self.beta
        return 0.15 if self.prompt == "plain" else 0.8


@dataclass(frozen=True, kw_only=True)
class DprConfig:
    """The contrastive stage, which is the same for every arm; what a field is stands in its annotation.

    Raises:
        TrainingError: If a value cannot be, or two do not go together.
    """

    base: Annotated[str, f"{_BASE}; one that was tuned whole"] = "minilm"
    initial: Annotated[
        str, "adapter on the same base to go on from, such as what `entail train tuning` made; none: the base"
    ] = ""
    tuning: Annotated[Tuning, _TUNING] = "lora"
    rank: Annotated[int, _RANK] = 32
    pooling: Annotated[
        Pooled,
        "vector of a text: as the base makes it; mean of its tokens, or [CLS] as the paper, in place of what "
        "the base has behind its transformer, which needs tuning=full",
    ] = "base"
    negatives: Annotated[
        int,
        "hard negatives of a question a step, beside those of the batch; 0: the batch's alone, even where a "
        "file gives hard ones",
    ] = 1
    depth: Annotated[
        int,
        "first passages of BM25 among which a question that comes with no hard negative gets some; "
        "0: those that are given alone",
    ] = 20
    temperature: Annotated[
        float, "what cosines are divided by; the paper's inner products are of any length"
    ] = 0.05
    words: Annotated[int, _WORDS] = 100
    longest: Annotated[int, _LONGEST] = 256
    epochs: Annotated[int, "times through the questions; the paper: 40 on NQ, 2 on MS MARCO"] = 2
    batch_size: Annotated[int, "questions a step"] = 128
    learning_rate: Annotated[
        float | None, "highest learning rate; default: 1e-5 for every weight, 2e-4 for an adapter"
    ] = None
    warmup_steps: Annotated[int, "steps in which the rate rises, at most a tenth of all; then it falls"] = 100
    weight_decay: Annotated[float, "of AdamW"] = 0.01
    max_gradient_norm: Annotated[float, "longer gradients are cut to this length"] = 1.0
    dropout: Annotated[float | None, _DROPOUT] = None
    evaluate_every: Annotated[int, "steps between two evaluations on dev within an epoch; 0 for none"] = 0
    dev_questions: Annotated[int, "questions of dev that the weights are chosen on; 0 for all"] = 500
    precision: Annotated[Precision, _PRECISION] = "auto"
    seed: Annotated[int, "of everything random"] = 0

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
            choices={"tuning": Tuning, "pooling": Pooled, "precision": Precision},
        )
        if self.pooling != "base" and self.tuning != "full":
            raise TrainingError(
                f"pooling={self.pooling} needs tuning=full, found tuning={self.tuning}: an adapter is loaded "
                "onto its base, whose pooling stays"
            )
        if self.initial and self.tuning != "lora":
            raise TrainingError(
                "an adapter to go on from (initial) needs tuning=lora; a model that was tuned whole is a base"
            )

    @property
    def highest_rate(self) -> float:
        """The learning rate at its highest."""
        return _rate(self.learning_rate, 2e-4 if self.tuning == "lora" else 1e-5)


_LOWEST: Mapping[str, Any] = {
    "rank": 1,
    "epochs": 1,
    "batch_size": 2,
    "words": 0,
    "longest": 8,
    "warmup_steps": 0,
    "evaluate_every": 0,
}


def _rate(given: float | None, usual: float) -> float:
    return usual if given is None else given
