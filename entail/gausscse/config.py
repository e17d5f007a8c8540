"""Settings of a GaussCSE training; the defaults are the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from entail.encoders.gaussian.form import Pooling, SimilarityKind
from entail.training.config import TrainingConfig

Sets = Literal["ent", "ent+con", "ent+rev", "ent+con+rev"]
Reversal = Literal["by_entailed", "by_premise"]
Rate = Literal["rising", "warm-up"]


@dataclass(frozen=True, kw_only=True)
class GausscseConfig(TrainingConfig):
    """Settings of a row of the paper's Tables 1 to 4, or of ours.

    Raises:
        TrainingError: If a value is out of range.
    """

    pooling: Annotated[Pooling, "Pooling: mean of tokens, or [CLS] (paper)"] = "mean"
    similarity: Annotated[
        SimilarityKind,
        "kl: 1 / (1 + KL), eq. 2; kl_mean: 1 / (1 + KL / d), the same ranking with larger gradients; "
        "kl_per_dim: mean of 1 / (1 + KL_i), as in the authors' code",
    ] = "kl_mean"
    tanh: Annotated[bool, "Apply tanh to means, as in the authors' code"] = False
    spread: Annotated[float, Gt(0), "Initial length of means as a share of sqrt(d)"] = 1.0
    sets: Annotated[Sets, "Contrastive sets: entailment, contradictions, reversed pairs"] = "ent+con+rev"
    reversal: Annotated[Reversal, "Reversed set: s(p_j, e_i) as in the authors' code, or s(p_i, e_j)"] = (
        "by_entailed"
    )
    ranking: Annotated[
        float,
        Ge(0),
        "Weight of a ranking term: entailment above neutral, contradictory and (with rev) reversed pairs; "
        "0: none, as in the paper",
    ] = 0.0
    direction: Annotated[
        float,
        Ge(0),
        "Weight of a direction term: sim(e || p) above sim(p || e) for each pair; 0: none, as in the paper",
    ] = 0.0
    longer: Annotated[
        float,
        Gt(0),
        "Weight of pairs whose entailed sentence is longer; 1: as other pairs, as in the paper",
    ] = 1.0
    teachers: Annotated[
        str,
        "Encoders of Gaussians, separated by commas, whose similarities are learned in turn (distillation); "
        "default: none",
    ] = ""
    distillation: Annotated[
        float, Ge(0), Le(1), "Share of the loss that the teachers have; 1: labels choose the pairs alone"
    ] = 0.5
    temperature: Annotated[float, Gt(0), "Temperature t"] = 0.05
    epochs: Annotated[int, Ge(1), "Epochs over the triplets"] = 3
    batch_size: Annotated[int, Ge(2), "Triplets per step"] = 32
    rate: Annotated[
        Rate, "rising: linear to the last step (paper); warm-up: over a tenth, then linear decay"
    ] = "warm-up"
    max_length: Annotated[int, Ge(8), "Maximum tokens of a sentence in training"] = 64
    evaluate_every: Annotated[int, Ge(1), "Steps between dev evaluations; the best weights are kept"] = 100
    dev_pairs: Annotated[int, Ge(0), "Dev pairs that select the weights; 0: all"] = 2000

    @property
    def warmup(self) -> float:
        """Share of all steps with a rising learning rate."""
        return 1.0 if self.rate == "rising" else 0.1
