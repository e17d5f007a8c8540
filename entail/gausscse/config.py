"""The settings of a GaussCSE training, the paper's as defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from entail.encoders.gaussian_form import Pooling, SimilarityKind
from entail.training.settings import check_values

Sets = Literal["ent", "ent+con", "ent+rev", "ent+con+rev"]
Tuning = Literal["lora", "full"]
Reversal = Literal["by_entailed", "by_premise"]
Rate = Literal["rising", "warm-up"]
Precision = Literal["auto", "fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class GausscseConfig:
    """One row of the paper's Tables 1 to 4, or of ours; what a field is stands in its annotation.

    Raises:
        TrainingError: If a value cannot be, or two do not go together.
    """

    base: Annotated[str, "encoder to start from: minilm, a folder under models/ or a Hub id"] = "minilm"
    tuning: Annotated[Tuning, "train a low-rank adapter (LoRA), or every weight; the head always"] = "lora"
    rank: Annotated[int, "rank of the adapter"] = 32
    dropout: Annotated[float | None, "dropout while training; default: as the base has it"] = None
    pooling: Annotated[Pooling, "hidden vector of a sentence: mean of its tokens, or [CLS] as the paper"] = (
        "mean"
    )
    similarity: Annotated[
        SimilarityKind,
        "kl: 1 / (1 + KL), eq. 2; kl_mean: 1 / (1 + KL / d), the same ranking with gradients that live; "
        "kl_per_dim: mean of 1 / (1 + KL_i), the authors' code",
    ] = "kl_mean"
    tanh: Annotated[bool, "means through tanh, as in the authors' code"] = False
    spread: Annotated[
        float,
        "length of untrained means as a share of the root of d: how far sentences begin apart",
    ] = 1.0
    sets: Annotated[Sets, "what is contrasted: entailment, contradictions, reversed pairs"] = "ent+con+rev"
    reversal: Annotated[Reversal, "reversed set: s(p_j, e_i) as in the authors' code, or s(p_i, e_j)"] = (
        "by_entailed"
    )
    ranking: Annotated[
        float,
        "weight of a term that ranks pairs that entail above neutral, contradictory and (with rev) reversed "
        "ones of any premise, ours; 0: the paper's loss alone",
    ] = 0.0
    direction: Annotated[
        float,
        "weight of a term that asks of each pair that the sentence that entails has the larger variance, by "
        "sim(e || p) above sim(p || e), ours; 0: the paper's loss alone",
    ] = 0.0
    longer: Annotated[
        float,
        "weight of pairs whose entailed sentence has more characters, which length alone gets wrong; "
        "1: as any other, as in the paper",
    ] = 1.0
    temperature: Annotated[float, "t of the loss"] = 0.05
    epochs: Annotated[int, "times through the triplets"] = 3
    batch_size: Annotated[int, "triplets a step"] = 32
    learning_rate: Annotated[
        float | None, "highest learning rate; default: 5e-5 for every weight, 5e-4 for an adapter"
    ] = None
    rate: Annotated[
        Rate, "rising: linear from 0 to the last step, as the paper; warm-up: over a tenth, then linear decay"
    ] = "warm-up"
    weight_decay: Annotated[float, "of AdamW"] = 0.01
    longest: Annotated[int, "tokens of a sentence that are read while training"] = 64
    evaluate_every: Annotated[int, "steps between two evaluations on dev; the best weights are kept"] = 100
    dev_pairs: Annotated[int, "pairs of dev that the weights are chosen on; 0 for all"] = 2000
    precision: Annotated[Precision, "bf16 computes under autocast; auto takes it where it pays"] = "auto"
    seed: Annotated[int, "of everything random"] = 0

    def __post_init__(self) -> None:
        """Check every value."""
        check_values(
            self,
            at_least={
                "rank": 1,
                "epochs": 1,
                "batch_size": 2,
                "longest": 8,
                "evaluate_every": 1,
                "dev_pairs": 0,
            },
            above_zero={
                "temperature": self.temperature,
                "learning_rate": self.highest_rate,
                "spread": self.spread,
                "longer": self.longer,
            },
            not_negative=("weight_decay", "ranking", "direction"),
            choices=_CHOICES,
        )

    @property
    def highest_rate(self) -> float:
        """The learning rate at its highest."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 5e-4 if self.tuning == "lora" else 5e-5

    @property
    def warmup(self) -> float:
        """Share of all steps in which the rate rises."""
        return 1.0 if self.rate == "rising" else 0.1


_CHOICES: Mapping[str, Any] = {
    "tuning": Tuning,
    "pooling": Pooling,
    "similarity": SimilarityKind,
    "sets": Sets,
    "reversal": Reversal,
    "rate": Rate,
    "precision": Precision,
}
