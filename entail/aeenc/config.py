"""The settings of an AE-Enc training, the paper's as defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from entail.errors import TrainingError
from entail.training.settings import check_values

Towers = Literal["single", "siamese", "dual"]
Tuning = Literal["lora", "full"]
Loss = Literal["triplet", "contrastive", "softmax"]
Reduction = Literal["mean", "sum"]
Start = Literal["hypotheses", "parents"]
Pool = Literal["corpus", "trees"]
Precision = Literal["auto", "fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class AeencConfig:
    """One row of the paper's Table 1, or of ours; what a field is stands in its annotation.

    Raises:
        TrainingError: If a value cannot be, or two do not go together.
    """

    base: Annotated[str, "encoder to start from: minilm, a folder under models/ or a Hub id"] = "minilm"
    towers: Annotated[
        Towers,
        "single: only the query tower learns, the index stays valid; siamese: one tower for both; dual: two",
    ] = "single"
    tuning: Annotated[Tuning, "train a low-rank adapter (LoRA), or every weight"] = "lora"
    rank: Annotated[int, "rank of the adapter"] = 16
    initial: Annotated[
        str, "adapter on the same base to go on from, a folder, cut to the rank; none: from the base"
    ] = ""
    dropout: Annotated[float | None, "dropout while training; default: as the base has it"] = None
    loss: Annotated[Loss, "triplet margin (TML), supervised contrastive (SCL), or softmax over negatives"] = (
        "triplet"
    )
    margin: Annotated[float, "m of the triplet loss, in cosine"] = 0.1
    contrastive_margin: Annotated[
        float, "m of the contrastive loss, in 1 - cosine; the paper gives m for triplets only"
    ] = 0.5
    reduction: Annotated[Reduction, "triplets: mean over all, or sum over those of a query"] = "mean"
    temperature: Annotated[float, "tau of the softmax loss"] = 0.05
    alpha: Annotated[float, "weight of the squared distance to the frozen base's vectors; 0 for none"] = 0.1
    gold: Annotated[
        bool, "learn from the gold triplets: each parent and child with each distractor of their tree"
    ] = True
    rounds: Annotated[int, "ACS passes, each with the encoder trained so far; pairs add up; 0 for none"] = 1
    restart: Annotated[
        bool,
        "after the rounds once more with the positives alone, the other premises of a batch as negatives: "
        "the paper's last pass",
    ] = False
    k: Annotated[int, "premises looked up a query in an ACS pass, K"] = 20
    start: Annotated[Start, "where an ACS pass starts: at hypotheses, as Algorithm 1, or at every parent"] = (
        "parents"
    )
    live_k: Annotated[
        int,
        "ACS at every step: the K nearest premises under the weights of that moment that do not explain the "
        "query are its hard negatives; for towers=single, where it costs one matrix product; 0 for none",
    ] = 0
    pool: Annotated[
        Pool, "live negatives come from the whole corpus, or from the premises of the training trees"
    ] = "corpus"
    in_batch: Annotated[
        bool, "premises of the other queries of a batch are negatives too, where the judgements say so"
    ] = False
    premises_per_step: Annotated[
        int, "siamese and dual: at most so many premises are encoded a step, a quarter of them negatives"
    ] = 128
    distil: Annotated[
        float,
        "weight of 1 - cosine to what teachers make of sentences that nobody judged, or of how far the "
        "ranking for them is from what a reader makes of it; 0 for none",
    ] = 0.0
    sentences: Annotated[int, "such sentences a step"] = 32
    contrast: Annotated[
        float, "length of the step that teachers' vectors are moved away from where premises crowd"
    ] = 0.0
    epochs: Annotated[int, "epochs a round"] = 5
    batch_size: Annotated[int, "queries a step"] = 32
    learning_rate: Annotated[
        float | None, "highest learning rate; default: the paper's 1e-5 for every weight, 5e-4 for an adapter"
    ] = None
    weight_decay: Annotated[float, "of AdamW"] = 0.0
    patience: Annotated[int, "stop after so many evaluations without a better dev MAP; 0 for never"] = 0
    precision: Annotated[Precision, "bf16 computes under autocast; auto takes it where it pays"] = "auto"
    seed: Annotated[int, "of everything random"] = 0

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
            choices=_CHOICES,
        )
        if self.initial and self.tuning != "lora":
            raise TrainingError("an adapter to go on from (initial) needs tuning=lora")
        if self.live_k and self.towers != "single":
            raise TrainingError(
                f"live_k needs a frozen premise tower (towers=single), found towers={self.towers}; "
                "use rounds of ACS instead"
            )
        if not (self.gold or self.rounds or self.live_k):
            raise TrainingError(
                "expected something to learn from: gold, rounds of ACS, or live_k; found none"
            )

    @property
    def highest_rate(self) -> float:
        """The learning rate at its highest."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 5e-4 if self.tuning == "lora" else 1e-5

    @property
    def epochs_in_all(self) -> int:
        """Epochs over all rounds, and the restart."""
        return self.epochs * (max(1, self.rounds) + self.restart)


_CHOICES: Mapping[str, Any] = {
    "towers": Towers,
    "tuning": Tuning,
    "loss": Loss,
    "reduction": Reduction,
    "start": Start,
    "pool": Pool,
    "precision": Precision,
}
