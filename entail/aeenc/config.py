"""Settings of an AE-Enc training; the defaults are those of Bogatu et al. (2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from entail.aeenc.losses import LossOptions
from entail.errors import TrainingError
from entail.training.validation import check_values

Towers = Literal["single", "siamese", "dual"]
Tuning = Literal["lora", "full"]
Start = Literal["hypotheses", "parents"]
Pool = Literal["corpus", "trees"]
Precision = Literal["auto", "fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class AeencConfig(LossOptions):
    """Settings of one training, such as a row of the paper's Table 1.

    Raises:
        TrainingError: If a value is out of range, or two exclude each other.
    """

    base: Annotated[str, "Base encoder: minilm, a folder under models/ or a Hub id"] = "minilm"
    towers: Annotated[
        Towers,
        "single: trains the query tower, and the index stays valid; siamese: one tower for both; dual: two",
    ] = "single"
    tuning: Annotated[Tuning, "Trained weights: a low-rank adapter (LoRA), or all"] = "lora"
    rank: Annotated[int, "LoRA rank"] = 16
    initial: Annotated[str, "Initial adapter on the same base, truncated to the rank; default: none"] = ""
    dropout: Annotated[float | None, "Dropout in training; default: that of the base"] = None
    alpha: Annotated[float, "Weight of the squared distance to the frozen base's vectors; 0: none"] = 0.1
    gold: Annotated[bool, "Train on gold triplets: parent, child and distractor of a tree"] = True
    rounds: Annotated[int, "ACS rounds, each with the current encoder; pairs accumulate; 0: none"] = 1
    restart: Annotated[
        bool,
        "Add a last pass on positives with in-batch negatives, as in the paper",
    ] = False
    k: Annotated[int, "Premises retrieved per query in an ACS round, K"] = 20
    start: Annotated[Start, "First queries of an ACS round: hypotheses (Algorithm 1), or every parent"] = (
        "parents"
    )
    live_k: Annotated[
        int,
        "ACS at every step: the K nearest premises under the current weights that are not gold become hard "
        "negatives; needs towers=single; 0: none",
    ] = 0
    pool: Annotated[Pool, "Source of live negatives: the corpus, or premises of the training trees"] = (
        "corpus"
    )
    in_batch: Annotated[bool, "In-batch negatives, where the judgements allow"] = False
    premises_per_step: Annotated[
        int, "siamese and dual: maximum premises encoded per step, a quarter of them negatives"
    ] = 128
    distil: Annotated[
        float,
        "Distillation weight: 1 - cosine to teacher vectors of unjudged sentences, or the divergence from a "
        "cross-encoder's ranking; 0: none",
    ] = 0.0
    sentences: Annotated[int, "Distilled sentences per step"] = 32
    contrast: Annotated[float, "Step by which teacher vectors move away from dense regions of premises"] = 0.0
    epochs: Annotated[int, "Epochs per round"] = 5
    batch_size: Annotated[int, "Queries per step"] = 32
    learning_rate: Annotated[
        float | None, "Peak learning rate; default: 1e-5 (paper) for all weights, 5e-4 for an adapter"
    ] = None
    weight_decay: Annotated[float, "AdamW weight decay"] = 0.0
    patience: Annotated[int, "Early stopping: evaluations without a better dev MAP; 0: never"] = 0
    precision: Annotated[Precision, "bf16 trains under autocast; auto uses it if it is faster"] = "auto"
    seed: Annotated[int, "Random seed"] = 0

    def __post_init__(self) -> None:
        """Check every value."""
        ones = ("rank", "k", "epochs", "batch_size", "sentences")
        check_values(
            self,
            at_least={
                **dict.fromkeys(ones, 1),
                "premises_per_step": 4,
                **dict.fromkeys(("rounds", "live_k", "patience"), 0),
            },
            above_zero={"temperature": self.temperature, "learning_rate": self.highest_rate},
            not_negative=("margin", "contrastive_margin", "alpha", "weight_decay", "distil", "contrast"),
        )
        if self.initial and self.tuning != "lora":
            raise TrainingError("an initial adapter (initial) needs tuning=lora")
        if self.live_k and self.towers != "single":
            raise TrainingError(
                f"live_k needs a frozen premise tower (towers=single), found towers={self.towers}; "
                "use rounds of ACS instead"
            )
        if not (self.gold or self.rounds or self.live_k):
            raise TrainingError("expected training pairs: gold, rounds of ACS, or live_k; found none")

    @property
    def highest_rate(self) -> float:
        """Learning rate after warm-up."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 5e-4 if self.tuning == "lora" else 1e-5

    @property
    def total_epochs(self) -> int:
        """Epochs of all rounds and the restart."""
        return self.epochs * (max(1, self.rounds) + self.restart)


FEW_DECISIONS = AeencConfig(
    # The premises keep their vectors and a step encodes only queries, so a few hundred decisions take seconds
    # to a few minutes on two cores.
    towers="single",
    tuning="lora",
    rank=16,
    # ACS would only find the same judgements again: premises that nobody judged have no label.
    gold=True,
    rounds=0,
    loss="triplet",
    reduction="sum",
    margin=0.2,
    # All negatives are from the top of the base's lists. Pushed hard, queries move to parts of the corpus
    # that nobody judged. So steps are small and few, and the pull to the base is strong.
    alpha=1.0,
    learning_rate=1e-4,
    epochs=20,
)
"""Settings for some tens to some hundreds of decisions."""
