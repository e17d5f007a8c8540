"""Settings of an ARCF training; the defaults are the paper's where a processor can bear them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le

from entail.errors import TrainingError
from entail.training.config import TrainingConfig

Scheme = Literal["arcf", "single-fact"]
Loss = Literal["ranknet", "bxent", "nce"]
Negatives = Literal["visible", "all", "mixed"]
Reading = Literal["joint", "apart"]


@dataclass(frozen=True, kw_only=True)
class ArcfConfig(TrainingConfig):
    """Settings of a row of the paper's Tables 2a and 2b, or of ours.

    Raises:
        TrainingError: If a value is out of range, or two do not go together.
    """

    RATES: ClassVar = {"lora": 5e-4, "full": 2e-5}

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
    shared_pieces: Annotated[float, Ge(0), "Initial weight of shared word pieces; 0: none"] = 0.0
    power: Annotated[
        float,
        Ge(0),
        "Initial weight of a fact's explanatory power for similar questions; 0: none",
    ] = 0.0
    similarity: Annotated[float, Ge(0), "Initial weight of lexical similarity to the question; 0: none"] = 0.0
    k: Annotated[int, Ge(1), "Visible facts: the nearest to the question or to a chosen fact"] = 180
    metric: Annotated[str, "Similarity of facts: tfidf, overlap, or a retriever such as bm25, minilm"] = (
        "tfidf"
    )
    negatives: Annotated[
        Negatives | None,
        "Negatives: visible facts, any facts, or half of each; default: visible; single-fact: mixed",
    ] = None
    noise: Annotated[bool, "Conditional noise (CN): wrong facts in prefixes"] = False
    noise_from: Annotated[float, Ge(0), Le(1), "Share of epochs before noise starts"] = 0.5
    noise_share: Annotated[float, Ge(0), Le(1), "Maximum share of a prefix replaced by wrong facts"] = 0.3
    stop: Annotated[bool, "Add the bare prefix as a sample; it is the positive when no fact is left"] = True
    prefixes: Annotated[int, Ge(1), "Prefixes per question and epoch"] = 1
    prefixes_a_step: Annotated[int, Ge(1), "Prefixes per step"] = 1
    batch_tokens: Annotated[
        int, Ge(64), "Maximum tokens of a prefix's samples; further negatives are dropped"
    ] = 5000
    token_budget: Annotated[int, Ge(0), "Total training tokens; 0: given by the epochs"] = 0
    max_length: Annotated[int, Ge(16), "Maximum tokens of a sample, up to the base's maximum"] = 256
    learning_rate: Annotated[
        float | None, Gt(0), "Peak learning rate; default: 2e-5 for all weights, 5e-4 for an adapter"
    ] = None
    warmup: Annotated[
        float, Ge(0), Le(1), "Share of steps with a rising learning rate; then it falls to 0"
    ] = 0.02
    dev_questions: Annotated[int, Ge(0), "Dev questions that select the weights; 0: all"] = 40
    evaluate_every: Annotated[int, Ge(0), "Steps between dev evaluations within an epoch; 0: none"] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reading == "apart" and self.tuning != "lora":
            raise TrainingError(
                "reading=apart needs tuning=lora: the base encodes candidates, an adapter on it prefixes"
            )

    @property
    def negatives_from(self) -> Negatives:
        """Source of negatives."""
        return self.negatives or ("visible" if self.scheme == "arcf" else "mixed")
