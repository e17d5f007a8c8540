"""The settings of an ARCF training, the paper's as defaults where a processor can bear them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from entail.errors import TrainingError
from entail.training.settings import check_values

Scheme = Literal["arcf", "single-fact"]
Loss = Literal["ranknet", "bxent", "nce"]
Negatives = Literal["visible", "all", "mixed"]
Reading = Literal["joint", "split", "apart"]
Tuning = Literal["lora", "full"]
Precision = Literal["auto", "fp32", "bf16"]


_TERMS = ("shared_pieces", "power", "similarity")


@dataclass(frozen=True, kw_only=True)
class ArcfConfig:
    """One row of the paper's Tables 2a and 2b, or of ours; what a field is stands in its annotation.

    Raises:
        TrainingError: If a value cannot be, or two do not go together.
    """

    base: Annotated[str, "encoder to start from: minilm, a folder under models/ or a Hub id"] = "minilm"
    scheme: Annotated[Scheme, "arcf: facts in the light of those before; single-fact: each alone"] = "arcf"
    loss: Annotated[Loss, "ranknet: pairs; bxent: each fact alone; nce: one positive among all"] = "ranknet"
    reading: Annotated[
        Reading,
        "joint: prefix and candidate read each other, the paper's cross-encoder; split: a prefix reads "
        "itself alone, a candidate reads it in the upper layers, so that most is computed once; apart: "
        "neither reads the other, candidates are read by the base as it is",
    ] = "joint"
    alone: Annotated[int, "split: lower layers in which a candidate reads itself alone"] = 2
    frozen: Annotated[
        bool, "split: those lower layers stay the base's: what they make of a fact is computed once"
    ] = False
    tuning: Annotated[Tuning, "train a low-rank adapter (LoRA), or every weight; the head always"] = "lora"
    rank: Annotated[int, "rank of the adapter"] = 32
    shared_pieces: Annotated[
        float, "weight at the start of the word pieces that prefix and candidate share; 0: without"
    ] = 0.0
    power: Annotated[
        float,
        "weight at the start of a fact's explanatory power, how often it explained like questions; "
        "0: without",
    ] = 0.0
    similarity: Annotated[
        float, "weight at the start of how like the question a fact is by its words; 0: without"
    ] = 0.0
    k: Annotated[int, "facts nearest to the question, or to a chosen fact, that are visible"] = 180
    metric: Annotated[str, "what nearness is: tfidf, overlap, or a retriever such as bm25, minilm"] = "tfidf"
    negatives: Annotated[
        Negatives | None,
        "negatives: visible facts, any facts, or half of each; default: visible, for single-fact mixed",
    ] = None
    noise: Annotated[bool, "conditional noise (CN): wrong facts in prefixes"] = False
    noise_from: Annotated[float, "share of the epochs after which noise sets in"] = 0.5
    noise_share: Annotated[float, "share of a prefix that is replaced by wrong facts, at most"] = 0.3
    stop: Annotated[bool, "the bare prefix is a sample too, and wins where nothing is left"] = True
    prefixes: Annotated[int, "prefixes of a question an epoch"] = 1
    prefixes_a_step: Annotated[int, "prefixes a step"] = 1
    batch_tokens: Annotated[int, "tokens of a prefix's samples; further negatives are left out"] = 5000
    token_budget: Annotated[int, "tokens to train on in all; 0: what the epochs come to"] = 0
    longest: Annotated[int, "tokens of a sample that are read, at most what the base reads"] = 256
    epochs: Annotated[int, "times through the questions"] = 4
    learning_rate: Annotated[
        float | None, "highest learning rate; default: 2e-5 for every weight, 5e-4 for an adapter"
    ] = None
    warmup: Annotated[float, "share of all steps in which the rate rises; then it falls to 0"] = 0.02
    weight_decay: Annotated[float, "of AdamW"] = 0.01
    dropout: Annotated[float | None, "dropout while training; default: as the base has it"] = None
    dev_questions: Annotated[int, "questions of dev that the best weights are chosen on; 0 for all"] = 40
    evaluate_every: Annotated[int, "steps between two evaluations on dev within an epoch; 0 for none"] = 0
    precision: Annotated[Precision, "bf16 computes under autocast; auto takes it where it pays"] = "auto"
    seed: Annotated[int, "of everything random"] = 0

    def __post_init__(self) -> None:
        """Check every value."""
        check_values(
            self,
            at_least={
                "rank": 1,
                "alone": 0,
                "k": 1,
                "prefixes": 1,
                "prefixes_a_step": 1,
                "batch_tokens": 64,
                "token_budget": 0,
                "longest": 16,
                "epochs": 1,
                "dev_questions": 0,
                "evaluate_every": 0,
            },
            above_zero={"learning_rate": self.highest_rate},
            not_negative=("weight_decay", "noise_share", "noise_from", "warmup", *_TERMS),
            choices=_CHOICES,
        )
        if self.negatives is not None:
            check_values(self, at_least={}, above_zero={}, not_negative=(), choices={"negatives": Negatives})
        shares = {name: getattr(self, name) for name in ("noise_share", "noise_from", "warmup")}
        if self.reading == "apart" and self.tuning != "lora":
            raise TrainingError(
                "reading=apart needs tuning=lora: the base reads candidates, an adapter on it prefixes"
            )
        if max(shares.values()) > 1:
            told = ", ".join(f"{name} {value:g}" for name, value in shares.items())
            raise TrainingError(f"expected shares of 1 at most, found {told}")

    @property
    def highest_rate(self) -> float:
        """The learning rate at its highest."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 5e-4 if self.tuning == "lora" else 2e-5

    @property
    def negatives_from(self) -> Negatives:
        """Where negatives are drawn from."""
        return self.negatives or ("visible" if self.scheme == "arcf" else "mixed")


_CHOICES: Mapping[str, Any] = {
    "scheme": Scheme,
    "loss": Loss,
    "reading": Reading,
    "tuning": Tuning,
    "precision": Precision,
}
