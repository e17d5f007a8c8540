"""Settings of an ARCF training; the defaults are the paper's where a processor can bear them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from entail.errors import TrainingError
from entail.training.validation import check_values

Scheme = Literal["arcf", "single-fact"]
Loss = Literal["ranknet", "bxent", "nce"]
Negatives = Literal["visible", "all", "mixed"]
Reading = Literal["joint", "apart"]
Tuning = Literal["lora", "full"]
Precision = Literal["auto", "fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class ArcfConfig:
    """Settings of a row of the paper's Tables 2a and 2b, or of ours.

    Raises:
        TrainingError: If a value is out of range, or two do not go together.
    """

    base: Annotated[str, "Base encoder: minilm, a folder under models/ or a Hub id"] = "minilm"
    scheme: Annotated[
        Scheme, "arcf: score facts given the chain so far; single-fact: score each fact alone"
    ] = "arcf"
    loss: Annotated[
        Loss, "ranknet: pairwise; bxent: binary cross-entropy per fact; nce: one positive among all"
    ] = "ranknet"
    reading: Annotated[
        Reading,
        "joint: one cross-encoder reads prefix and candidate, as in the paper; apart: a bi-encoder, the "
        "adapter encodes the prefix and the base each candidate, once",
    ] = "joint"
    tuning: Annotated[Tuning, "Trained weights: a low-rank adapter (LoRA), or all; always the head"] = "lora"
    rank: Annotated[int, "LoRA rank"] = 32
    shared_pieces: Annotated[float, "Initial weight of shared word pieces; 0: none"] = 0.0
    power: Annotated[
        float,
        "Initial weight of a fact's explanatory power for similar questions; 0: none",
    ] = 0.0
    similarity: Annotated[float, "Initial weight of lexical similarity to the question; 0: none"] = 0.0
    k: Annotated[int, "Visible facts: the nearest to the question or to a chosen fact"] = 180
    metric: Annotated[str, "Similarity of facts: tfidf, overlap, or a retriever such as bm25, minilm"] = (
        "tfidf"
    )
    negatives: Annotated[
        Negatives | None,
        "Negatives: visible facts, any facts, or half of each; default: visible; single-fact: mixed",
    ] = None
    noise: Annotated[bool, "Conditional noise (CN): wrong facts in prefixes"] = False
    noise_from: Annotated[float, "Share of epochs before noise starts"] = 0.5
    noise_share: Annotated[float, "Maximum share of a prefix replaced by wrong facts"] = 0.3
    stop: Annotated[bool, "Add the bare prefix as a sample; it is the positive when no fact is left"] = True
    prefixes: Annotated[int, "Prefixes per question and epoch"] = 1
    prefixes_a_step: Annotated[int, "Prefixes per step"] = 1
    batch_tokens: Annotated[int, "Maximum tokens of a prefix's samples; further negatives are dropped"] = 5000
    token_budget: Annotated[int, "Total training tokens; 0: given by the epochs"] = 0
    max_length: Annotated[int, "Maximum tokens of a sample, up to the base's maximum"] = 256
    epochs: Annotated[int, "Epochs over the questions"] = 4
    learning_rate: Annotated[
        float | None, "Peak learning rate; default: 2e-5 for all weights, 5e-4 for an adapter"
    ] = None
    warmup: Annotated[float, "Share of steps with a rising learning rate; then it falls to 0"] = 0.02
    weight_decay: Annotated[float, "AdamW weight decay"] = 0.01
    dropout: Annotated[float | None, "Dropout in training; default: that of the base"] = None
    dev_questions: Annotated[int, "Dev questions that select the weights; 0: all"] = 40
    evaluate_every: Annotated[int, "Steps between dev evaluations within an epoch; 0: none"] = 0
    precision: Annotated[Precision, "bf16 trains under autocast; auto uses it if it is faster"] = "auto"
    seed: Annotated[int, "Random seed"] = 0

    def __post_init__(self) -> None:
        check_values(
            self,
            at_least={
                "rank": 1,
                "k": 1,
                "prefixes": 1,
                "prefixes_a_step": 1,
                "batch_tokens": 64,
                "token_budget": 0,
                "max_length": 16,
                "epochs": 1,
                "dev_questions": 0,
                "evaluate_every": 0,
            },
            above_zero={"learning_rate": self.highest_rate},
            not_negative=(
                *("weight_decay", "noise_share", "noise_from", "warmup"),
                *("shared_pieces", "power", "similarity"),
            ),
        )
        shares = {name: getattr(self, name) for name in ("noise_share", "noise_from", "warmup")}
        if self.reading == "apart" and self.tuning != "lora":
            raise TrainingError(
                "reading=apart needs tuning=lora: the base encodes candidates, an adapter on it prefixes"
            )
        if max(shares.values()) > 1:
            found = ", ".join(f"{name} {value:g}" for name, value in shares.items())
            raise TrainingError(f"expected shares of 1 at most, found {found}")

    @property
    def highest_rate(self) -> float:
        """Highest learning rate."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 5e-4 if self.tuning == "lora" else 2e-5

    @property
    def negatives_from(self) -> Negatives:
        """Source of negatives."""
        return self.negatives or ("visible" if self.scheme == "arcf" else "mixed")
