"""Settings of AE-Enc, by default the first stage of `models/aeenc-minilm`, and of re-rankers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Lt

from entail.aeenc.losses import LossOptions
from entail.errors import TrainingError
from entail.training.config import TrainingConfig

Towers = Literal["single", "siamese", "dual"]


@dataclass(frozen=True, kw_only=True)
class AeencConfig(LossOptions, TrainingConfig):
    """Settings of one training.

    Raises:
        TrainingError: If a value is out of range, or two exclude each other.
    """

    RATES: ClassVar = {"lora": 7e-4, "full": 1e-5}

    towers: Annotated[
        Towers,
        "single: trains the query tower, and the index stays valid; siamese: one tower for both; dual: two",
    ] = "single"
    rank: Annotated[int, Ge(1), "LoRA rank"] = 32
    dropout: Annotated[float | None, Ge(0), Lt(1), "Dropout in training; default: that of the base"] = 0.1
    initial: Annotated[
        str,
        "Initial adapter on the same base, truncated to the rank; single leaves its premise tower as it is; "
        "default: none",
    ] = ""
    alpha: Annotated[
        float,
        Ge(0),
        "Weight of the squared distance to the vectors at the start, of base or initial; 0: none",
    ] = 0.02
    gold: Annotated[bool, "Train on triplets of the reference trees: parent, child and distractor"] = False
    rounds: Annotated[int, Ge(0), "ACS rounds, each with the current encoder; pairs accumulate; 0: none"] = 0
    k: Annotated[int, Ge(1), "Premises retrieved per query in an ACS round, K"] = 20
    live_k: Annotated[
        int,
        Ge(0),
        "ACS at every step: of the K nearest premises under the current weights those that are no reference "
        "become hard negatives; needs towers=single; 0: none",
    ] = 100
    spare_equals: Annotated[
        bool,
        "Gold trees: no negative is the query's own text, or differs in capitals alone from it or from what "
        "explains it; the paper spares none",
    ] = True
    complete: Annotated[
        bool,
        "Decisions: premises without a judgement are negatives of sentences with accepted ones, as in trees",
    ] = False
    premises_per_step: Annotated[
        int, Ge(4), "siamese and dual: maximum premises encoded per step, a quarter of them negatives"
    ] = 128
    distil: Annotated[
        float, Ge(0), "Distillation weight: 1 - cosine to teacher vectors of unjudged sentences; 0: none"
    ] = 0.0
    sentences: Annotated[int, Ge(1), "Distilled sentences per step"] = 32
    epochs: Annotated[int, Ge(1), "Epochs per round"] = 8
    batch_size: Annotated[int, Ge(1), "Queries per step"] = 32
    learning_rate: Annotated[
        float | None, Gt(0), "Peak learning rate; default: 1e-5 (paper) for all weights, 7e-4 for an adapter"
    ] = None
    weight_decay: Annotated[float, Ge(0), "AdamW weight decay"] = 0.0

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if self.initial and self.tuning != "lora":
            raise TrainingError("an initial adapter (initial) needs tuning=lora")
        if self.live_k and self.towers != "single":
            raise TrainingError(
                f"live_k={self.live_k} needs a frozen premise tower (towers=single), found "
                f"towers={self.towers}; set live_k=0 and gold=true, or rounds of ACS"
            )
        if not (self.gold or self.rounds or self.live_k):
            raise TrainingError("expected training pairs: gold, rounds of ACS, or live_k; found none")

    @property
    def total_epochs(self) -> int:
        """Epochs of all rounds."""
        return self.epochs * max(1, self.rounds)


PAPER = AeencConfig(
    tuning="full",
    learning_rate=1e-5,
    dropout=None,
    gold=True,
    rounds=1,
    k=20,
    live_k=0,
    spare_equals=False,
    loss="triplet",
    margin=0.1,
    # In equation 2 every triplet has its own distance to the base, so a mean over triplets keeps alpha. Of a
    # sum over the triplets of a query, 98.6 on average, it would be that many times as small a triplet.
    reduction="mean",
    alpha=0.1,
    epochs=5,
    batch_size=1,  # one query with all its triplets; the paper has batches of 32, it does not say of what
)
"""Setting of Bogatu et al. 2022: AE-Enc of their Table 1, with one pass of ACS."""

_DECISIONS = AeencConfig(
    # The premises keep their vectors and a step encodes only queries, so a few hundred decisions take seconds
    # to a few minutes on two cores.
    towers="single",
    tuning="lora",
    rank=16,
    dropout=None,
    rounds=0,
    # Rejected premises are all from the top of a list. Pushed away from these alone, queries move to parts of
    # the corpus that were not judged; so those count as well, although a few would have been accepted.
    complete=True,
    live_k=20_000,
    loss="softmax",
    temperature=0.05,
    alpha=0.0,
    learning_rate=2e-4,
    epochs=10,
)
"""Settings for some tens to some hundreds of decisions."""


def decisions_config(**settings: Any) -> AeencConfig:
    """Return settings for the decisions of a team, with some that are given.

    From an adapter (`initial`), such as the one that ranked what was decided, steps are smaller, since most
    is learnt already, and the rank leaves room for more than the adapter's own.

    >>> decisions_config(initial="aeenc-minilm", epochs=3).rank
    64
    """
    further = {"rank": 64, "learning_rate": 1e-4} if settings.get("initial") else {}
    return replace(_DECISIONS, **{**further, **settings})


@dataclass(frozen=True, kw_only=True)
class RerankerConfig(TrainingConfig):
    """Settings of a re-ranker, a cross-encoder trained on the lists of a retriever: `models/reranker-minilm`.

    Raises:
        TrainingError: If a value is out of range.
    """

    retriever: Annotated[str, "Retriever whose lists it learns to order"] = "aeenc-minilm+bm25"
    rank: Annotated[int, Ge(1), "LoRA rank"] = 40
    epochs: Annotated[int, Ge(1), "Epochs over the training data"] = 3
    batch_size: Annotated[int, Ge(1), "Queries per step"] = 16
    negatives: Annotated[int, Ge(1), "Negatives per query and epoch, sampled from its nearest premises"] = 5
    nearest: Annotated[int, Ge(1), "Nearest premises that negatives are sampled from"] = 50
    max_length: Annotated[int, Ge(8), "Maximum tokens of premise and query; truncates the premise"] = 96
    dropout: Annotated[float | None, Ge(0), "Dropout in training; default: that of the base"] = 0.1
    warmup: Annotated[
        float, Ge(0), Le(1), "Share of steps with a rising learning rate; then it falls to 0"
    ] = 0.06
    max_gradient_norm: Annotated[float, Gt(0), "Maximum gradient norm; larger gradients are clipped"] = 1.0
    weight: Annotated[float, Ge(0), "Weight of its score relative to the retriever's"] = 0.04
    depth: Annotated[int, Ge(1), "Nearest premises that it reads when it ranks"] = 64
    dev_trees: Annotated[int, Ge(0), "Dev trees that select the weights; 0: all"] = 60
