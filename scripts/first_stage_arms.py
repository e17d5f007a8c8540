"""Arms of the first stage of entailment tuning: their settings and claims, and their rows compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from entail.statistics.classification import mcnemar
from entail.tuning.config import TuningConfig

FIRST = TuningConfig(
    tuning="full",
    learning_rate=1.5e-4,
    dropout=0.1,
    batch_size=48,
    words=60,
    max_length=128,
    epochs=1,
    head_steps=250,
    first_beta=0.2,
    dev_pairs=600,
    evaluate_every=225,
)


@dataclass(frozen=True)
class Arm:
    """First stage of one arm: what differs from `FIRST`, None for none; and what differs in contrast."""

    title: str
    changes: Mapping[str, Any] | None = field(default_factory=dict)
    claim: str = "grammar"
    contrast: Mapping[str, Any] = field(default_factory=dict)


ARMS = {
    "none": Arm("no first stage", None),
    "dot": Arm("no first stage, inner product for cosine", None, contrast={"similarity": "dot"}),
    "plain": Arm("plain masking, 15 %", {"prompt": "plain", "first_beta": None}),
    "hypothesis": Arm("claim beside the passage (the paper), beta .2 to .8"),
    "fixed": Arm("the same, beta .8 throughout", {"first_beta": None}),
    "question": Arm("p [SEP] q", {"prompt": "question"}),
    "templates": Arm("six plain templates for claims", claim="templates"),
    "keep": Arm("claim beside the passage, vectors kept", {"keep": 30.0}),
    "bottleneck": Arm("claim through the passage's vector", {"bottleneck": 1.0}),
    "both": Arm("claim through the passage's vector, vectors kept", {"bottleneck": 1.0, "keep": 30.0}),
}
TITLES = {
    "first_stage": "its arms, and what they do to retrieval",
    "first_stage_mlm": "a base by plain masking",
}
"""Purpose of a page, by the name of its result file."""

TEMPLATES = {
    "when": "There exists a known time when",
    "why": "There exists a known reason why",
    "who": "There exists a known person who",
    "where": "There exists a known place where",
    "how": "There exists a known way how",
    "does": "It is known whether",
}


def plain_claim(question: str) -> str:
    """Return a question behind the words of one of six templates.

    >>> plain_claim("When was it built?"), plain_claim("Which one?")
    ('There exists a known time when was it built.', 'There exists a known answer to which one.')
    """
    text = question.strip().rstrip("?").strip()
    first, _, rest = text.partition(" ")
    template = TEMPLATES.get(first.lower())
    if template is None:
        return f"There exists a known answer to {text[:1].lower()}{text[1:]}."
    return f"{template} {rest}."


def group(ones: Sequence[Mapping[str, Any]], *names: str) -> dict[Any, list[Mapping[str, Any]]]:
    """Return fields -> all that have these, in the order of the arms."""
    order, groups = list(ARMS), defaultdict[Any, list[Mapping[str, Any]]](list)
    for row in sorted(ones, key=lambda row: (row.get("questions", 0), order.index(row["arm"]))):
        groups[itemgetter(*names)(row)].append(row)
    return groups


def gains(
    rows: Sequence[Mapping[str, Any]], seeds: Sequence[Mapping[str, Any]]
) -> tuple[list[float], float | None]:
    """Return R@1 of the seeds of an arm above no first stage of the same seed and questions.

    Returns:
        The gains, and the largest p of the seeds (McNemar); none and None for the rows without a first stage.
    """
    without = {(row["seed"], row["questions"]): row for row in rows if row["arm"] == "none"}
    pairs = [
        (row, without[row["seed"], row["questions"]])
        for row in seeds
        if row["arm"] != "none" and (row["seed"], row["questions"]) in without
    ]
    above = [row["gold"]["R@1"] - other["gold"]["R@1"] for row, other in pairs]
    return above, max((mcnemar(*map(hits, pair)).p for pair in pairs), default=None)


def hits(row: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return the questions of a row whose passage comes first, padded to whole bytes."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(row["hits"]), dtype=np.uint8)).astype(bool)
