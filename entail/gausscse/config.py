"""Settings of a GaussCSE training; the defaults are the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from entail.encoders.gaussian.form import Pooling, SimilarityKind
from entail.training.validation import check_values

Sets = Literal["ent", "ent+con", "ent+rev", "ent+con+rev"]
Tuning = Literal["lora", "full"]
Reversal = Literal["by_entailed", "by_premise"]
Rate = Literal["rising", "warm-up"]
Precision = Literal["auto", "fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class GausscseConfig:
    """Settings of a row of the paper's Tables 1 to 4, or of ours.

    Raises:
        TrainingError: If a value is out of range.
    """

    base: Annotated[str, "Base encoder: minilm, a folder under models/ or a Hub id"] = "minilm"
    tuning: Annotated[Tuning, "Trained weights: a low-rank adapter (LoRA), or all; always the head"] = "lora"
    rank: Annotated[int, "LoRA rank"] = 32
    dropout: Annotated[float | None, "Dropout in training; default: that of the base"] = None
    pooling: Annotated[Pooling, "Pooling: mean of tokens, or [CLS] (paper)"] = "mean"
    similarity: Annotated[
        SimilarityKind,
        "kl: 1 / (1 + KL), eq. 2; kl_mean: 1 / (1 + KL / d), the same ranking with larger gradients; "
        "kl_per_dim: mean of 1 / (1 + KL_i), as in the authors' code",
    ] = "kl_mean"
    tanh: Annotated[bool, "Apply tanh to means, as in the authors' code"] = False
    spread: Annotated[float, "Initial length of means as a share of sqrt(d)"] = 1.0
    sets: Annotated[Sets, "Contrastive sets: entailment, contradictions, reversed pairs"] = "ent+con+rev"
    reversal: Annotated[Reversal, "Reversed set: s(p_j, e_i) as in the authors' code, or s(p_i, e_j)"] = (
        "by_entailed"
    )
    ranking: Annotated[
        float,
        "Weight of a ranking term: entailment above neutral, contradictory and (with rev) reversed pairs; "
        "0: none, as in the paper",
    ] = 0.0
    direction: Annotated[
        float,
        "Weight of a direction term: sim(e || p) above sim(p || e) for each pair; 0: none, as in the paper",
    ] = 0.0
    longer: Annotated[
        float,
        "Weight of pairs whose entailed sentence is longer; 1: as other pairs, as in the paper",
    ] = 1.0
    temperature: Annotated[float, "Temperature t"] = 0.05
    epochs: Annotated[int, "Epochs over the triplets"] = 3
    batch_size: Annotated[int, "Triplets per step"] = 32
    learning_rate: Annotated[
        float | None, "Peak learning rate; default: 5e-5 for all weights, 5e-4 for an adapter"
    ] = None
    rate: Annotated[
        Rate, "rising: linear to the last step (paper); warm-up: over a tenth, then linear decay"
    ] = "warm-up"
    weight_decay: Annotated[float, "AdamW weight decay"] = 0.01
    max_length: Annotated[int, "Maximum tokens of a sentence in training"] = 64
    evaluate_every: Annotated[int, "Steps between dev evaluations; the best weights are kept"] = 100
    dev_pairs: Annotated[int, "Dev pairs that select the weights; 0: all"] = 2000
    precision: Annotated[Precision, "bf16 trains under autocast; auto uses it if it is faster"] = "auto"
    seed: Annotated[int, "Random seed"] = 0

    def __post_init__(self) -> None:
        check_values(
            self,
            at_least={
                "rank": 1,
                "epochs": 1,
                "batch_size": 2,
                "max_length": 8,
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
        )

    @property
    def highest_rate(self) -> float:
        """Highest learning rate."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 5e-4 if self.tuning == "lora" else 5e-5

    @property
    def warmup(self) -> float:
        """Share of all steps with a rising learning rate."""
        return 1.0 if self.rate == "rising" else 0.1
