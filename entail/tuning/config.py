"""Settings of both stages of entailment tuning; the paper's (Table 6) where a CPU can afford them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le

from entail.encoders.weights import Similarity
from entail.errors import TrainingError
from entail.training.config import TrainingConfig

LOW = 0.4
"""Share of the steps with `first_beta`."""

Prompt = Literal["hypothesis", "full", "question", "plain"]
Pooled = Literal["base", "mean", "cls"]
Towers = Literal["siamese", "dual"]

_RANK = "LoRA rank; equal ranks carry over exactly between both stages"
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
    beta: Annotated[
        float | None, Gt(0), Le(1), "Share of masked tokens; default: 0.8; plain: 0.15, as in BERT"
    ] = None
    first_beta: Annotated[
        float | None,
        Gt(0),
        Le(1),
        "Share of masked tokens in the first 40 % of the steps, from where it rises to beta; default: beta",
    ] = None
    bottleneck: Annotated[
        float,
        Ge(0),
        Le(1),
        "Share of the loss that a small decoder has, which predicts the claim from the passage's pooled "
        "vector alone; 0: none",
    ] = 0.0
    keep: Annotated[
        float,
        Ge(0),
        "Weight of the distance of passages and claims to their vectors of the base; 30, best with "
        "bottleneck=1, spares what a base that was trained by contrast knows; 0: none",
    ] = 0.0
    words: Annotated[int, Ge(0), _WORDS] = 100
    max_length: Annotated[int, Ge(8), f"{_MAX_LENGTH}; truncates the passage, never the claim"] = 256
    epochs: Annotated[int, Ge(1), "Epochs over the pairs"] = 10
    batch_size: Annotated[int, Ge(2), "Pairs per step"] = 128
    learning_rate: Annotated[
        float | None, Gt(0), "Peak learning rate; default: 2e-5 for all weights, 5e-4 for an adapter"
    ] = None
    head_rate: Annotated[
        float,
        Gt(0),
        "Peak learning rate of a new masked-LM head; an existing one uses learning_rate",
    ] = 5e-4
    head_steps: Annotated[int, Ge(0), "First steps, which train only the head, before the encoder"] = 0
    warmup_steps: Annotated[int, Ge(0), "Warm-up steps; then the learning rate falls to 0"] = 100
    max_gradient_norm: Annotated[float, Gt(0), "Maximum gradient norm; larger gradients are clipped"] = 1.0
    evaluate_every: Annotated[int, Ge(0), "Steps between dev evaluations within an epoch; 0: none"] = 0
    dev_pairs: Annotated[int, Ge(0), "Dev pairs that select the weights; 0: all"] = 1000

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if self.bottleneck and self.prompt in ("full", "plain"):
            raise TrainingError(
                f"bottleneck={self.bottleneck:g} needs prompt=hypothesis or question, found {self.prompt}: "
                "the decoder predicts a claim or a question"
            )

    def share_at(self, progress: float) -> float:
        """Return the share of tokens that are masked at a share of all steps.

        >>> [round(TuningConfig(first_beta=0.2).share_at(at), 2) for at in (0, 0.4, 0.7, 1)]
        [0.2, 0.2, 0.5, 0.8]
        """
        if self.first_beta is None:
            return self.share
        risen = max(0.0, progress - LOW) / (1 - LOW)
        return self.first_beta + risen * (self.share - self.first_beta)

    @property
    def share(self) -> float:
        """Share of tokens that are masked, at the end and in evaluations."""
        if self.beta is not None:
            return self.beta
        return 0.15 if self.prompt == "plain" else 0.8


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
        "Pooling: as in the base, mean of tokens, or [CLS] (paper); the latter two replace the base's "
        "pooling and need tuning=full",
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
        "cosine, or dot: the inner product of vectors that keep their lengths (paper), divided by the root "
        "of their dimension; needs tuning=full",
    ] = "cosine"
    temperature: Annotated[
        float, Gt(0), "Temperature of similarities; as the paper: 1 / root of the dimension, with dot"
    ] = 0.05
    words: Annotated[int, Ge(0), _WORDS] = 100
    max_length: Annotated[int, Ge(8), _MAX_LENGTH] = 256
    epochs: Annotated[int, Ge(1), "Epochs over the questions; paper: 40 on NQ, 2 on MS MARCO"] = 2
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
