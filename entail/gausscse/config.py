"""Settings of a GaussCSE training; the defaults are the recipe of `models/gausscse-minilm`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt

from entail.encoders.gaussian.form import Pooling, SimilarityKind
from entail.training.config import TrainingConfig

Sets = Literal["ent", "ent+con", "ent+rev", "ent+con+rev"]
Rate = Literal["rising", "warm-up"]


@dataclass(frozen=True, kw_only=True)
class GausscseConfig(TrainingConfig):
    """Settings of a training.

    Raises:
        TrainingError: If a value is out of range.
    """

    dropout: Annotated[float | None, Ge(0), Lt(1), "Dropout in training; default: that of the base"] = 0.0
    pooling: Annotated[Pooling, "Pooling: mean of tokens, or [CLS]"] = "mean"
    similarity: Annotated[
        SimilarityKind,
        "kl: 1 / (1 + KL); kl_mean: 1 / (1 + KL / d), the same ranking with larger gradients; kl_per_dim: "
        "mean of 1 / (1 + KL_i)",
    ] = "kl_mean"
    tanh: Annotated[bool, "Apply tanh to means"] = False
    sets: Annotated[Sets, "Contrastive sets: entailment, contradictions, reversed pairs"] = "ent+con+rev"
    ranking: Annotated[
        float,
        Ge(0),
        "Weight of a ranking term: entailment above neutral, contradictory and (with rev) reversed pairs; "
        "0: none",
    ] = 1.0
    direction: Annotated[
        float, Ge(0), "Weight of a direction term: sim(e || p) above sim(p || e) for each pair; 0: none"
    ] = 2.0
    longer: Annotated[
        float, Gt(0), "Weight of pairs whose entailed sentence is longer; 1: as other pairs"
    ] = 2.0
    teachers: Annotated[
        str,
        "Encoders of Gaussians, separated by commas, whose similarities are learned in turn (distillation); "
        "default: none",
    ] = ""
    distillation: Annotated[
        float, Ge(0), Le(1), "Share of the loss that the teachers have; 1: labels choose the pairs alone"
    ] = 0.5
    temperature: Annotated[float, Gt(0), "Temperature t"] = 0.05
    epochs: Annotated[int, Ge(1), "Epochs over the triplets"] = 1
    batch_size: Annotated[int, Ge(2), "Triplets per step"] = 32
    rate: Annotated[
        Rate, "rising: linear to the last step; warm-up: over a tenth of the steps, then linear decay"
    ] = "warm-up"
    max_length: Annotated[int, Ge(8), "Maximum tokens of a sentence in training"] = 64
    evaluate_every: Annotated[int, Ge(1), "Steps between dev evaluations; the best weights are kept"] = 100
    dev_pairs: Annotated[int, Ge(0), "Dev pairs that select the weights; 0: all"] = 2000

    @property
    def warmup(self) -> float:
        """Share of all steps with a rising learning rate."""
        return 1.0 if self.rate == "rising" else 0.1


PAPER = GausscseConfig(
    base="google-bert/bert-base-uncased",
    tuning="full",
    dropout=None,
    pooling="cls",
    similarity="kl_per_dim",
    tanh=True,
    ranking=0,
    direction=0,
    longer=1,
    epochs=3,
    batch_size=16,
    learning_rate=5e-5,
    rate="rising",
    dev_pairs=0,
)
"""Setting of Yoda et al. 2023: BERT-base and the best cell of their Table 5.

The similarity and the tanh are those of the authors' code; equation 2 of the paper is `kl`. The code's rate
warms up and decays, the paper's rises to the last step.
"""
