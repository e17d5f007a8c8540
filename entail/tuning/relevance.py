"""Relevance and entailment (Figures 2 and 3 of the paper), as values by group.

Figure 2: by a model of natural language inference, how probable a passage makes the claim of a question, for
passages that answer it and for hard negatives. Figure 3: how similar a retriever finds a hypothesis to
premises that entail it, to neutral ones, and to irrelevant ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.claims import existence_claim
from entail.data.nli.pairs import NliPair
from entail.encoders.encoder import Encoder
from entail.errors import EvaluationError
from entail.evaluation.nli.judge import Judge, Values
from entail.progress import ProgressCallback
from entail.tuning.examples import Examples, excerpt

BINS = 20


@dataclass(frozen=True)
class Relevance:
    """Values of one measure, by group.

    Attributes:
        measure: What was measured, in words.
        by: The judge or retriever.
        groups: Name -> values; the first is expected to stand above the others.
        bounds: Least and greatest value that can be.
    """

    measure: str
    by: str
    groups: Mapping[str, Values] = field(repr=False)
    bounds: tuple[float, float] = (0.0, 1.0)

    def above(self, other: str) -> float:
        """Return P(a value of the first group > one of another), equal ones counted half."""
        from sklearn.metrics import roc_auc_score

        first = next(iter(self.groups.values()))
        values = np.concatenate([first, self.groups[other]])
        return float(roc_auc_score(np.arange(len(values)) < len(first), values))

    def histogram(self, group: str) -> Values:
        """Return the share of a group's values in each of `BINS` bins of equal width, shape (bins,)."""
        values = self.groups[group]
        counts, _ = np.histogram(values, bins=BINS, range=self.bounds)
        shares: Values = counts / max(1, len(values))
        return shares

    def to_json(self) -> dict[str, Any]:
        """Return count, mean, quartiles and histogram of each group, and how far the first stands above."""
        first = next(iter(self.groups))
        return {
            "measure": self.measure,
            "by": self.by,
            "bounds": list(self.bounds),
            "groups": {
                name: {
                    "n": len(values),
                    "mean": float(values.mean()),
                    "quartiles": np.quantile(values, (0.25, 0.5, 0.75)).tolist(),
                    "histogram": self.histogram(name).tolist(),
                    **({"above": self.above(name)} if name != first else {}),
                }
                for name, values in self.groups.items()
            },
        }


@dataclass(frozen=True, slots=True)
class Beside:
    """Judgements of a question.

    Attributes:
        question: As it is asked.
        claim: What a passage that answers it entails.
        gold: Such a passage.
        negative: One that looks as if it did.
    """

    question: str
    claim: str
    gold: str
    negative: str


def beside_claims(examples: Examples, *, words: int = 100) -> list[Beside]:
    """Return what `claims_entailed` judges: a row for each question with a hard negative."""
    store = examples.store
    return [
        Beside(
            one.question,
            existence_claim(one.question).text,
            excerpt(store[one.gold[0]].whole, words=words, answers=one.answers),
            excerpt(store[one.negatives[0]].whole, words=words),
        )
        for one in examples.examples
        if one.negatives
    ]


def claims_entailed(
    examples: Examples, judge: Judge, *, words: int = 100, progress: ProgressCallback | None = None
) -> Relevance:
    """Measure how probable gold passages and hard negatives make the claims of questions (Figure 2).

    Args:
        examples: Questions with hard negatives; those without take no part. The hardest one is taken.
        judge: A model of natural language inference.
        words: Words of a passage that are read: of a gold one around its answer, as it is learnt.
        progress: Told how far it is.

    Raises:
        EvaluationError: If no question has a hard negative.
    """
    asked = beside_claims(examples, words=words)
    if not asked:
        raise EvaluationError(
            f"expected questions with hard negatives, found {len(examples)} without; add them by BM25 "
            "(with_hard_negatives)"
        )
    claims = [one.claim for one in asked]
    passages = [*(one.gold for one in asked), *(one.negative for one in asked)]
    found = judge.entailment(passages, [*claims, *claims], progress=progress)
    groups = {"passages that answer": found[: len(asked)], "hard negatives": found[len(asked) :]}
    return Relevance("P(passage entails claim)", judge.name, groups)


def premises_told_apart(
    pairs: Sequence[NliPair], encoder: Encoder, *, seed: int = 0, progress: ProgressCallback | None = None
) -> Relevance:
    """Measure how similar a retriever finds hypotheses to premises of three kinds (Figure 3).

    Irrelevant ones are drawn among the premises of other pairs, one for each hypothesis.

    Args:
        pairs: Entailment and neutral pairs; contradictions take no part.
        encoder: The retriever: a hypothesis is its query.
        seed: Of what is drawn.
        progress: Told how far it is.

    Raises:
        EvaluationError: If either kind is missing, or all pairs have one premise.
    """
    some = [pair for pair in pairs if pair.label != "contradiction"]
    labels = np.array([pair.label for pair in some])
    premises = list(dict.fromkeys(pair.premise for pair in some))
    if len(premises) < 2 or not {"entailment", "neutral"} <= set(labels.tolist()):
        raise EvaluationError(
            f"expected entailment and neutral pairs of several premises, found {len(some)} pairs of "
            f"{len(premises)} premises; give another file"
        )
    place = {premise: at for at, premise in enumerate(premises)}
    own = np.array([place[pair.premise] for pair in some])
    steps = np.random.default_rng(seed).integers(1, len(premises), size=len(some))
    drawn = (own + steps) % len(premises)  # never its own
    told = encoder.encode_premises(premises, progress=progress)
    asked = encoder.encode_queries([pair.hypothesis for pair in some], progress=progress)

    def cosines(rows: NDArray[np.bool_], of: NDArray[np.int64]) -> Values:
        found: Values = np.einsum("ij,ij->i", asked[rows], told[of[rows]]).astype(np.float64)
        return found

    every = np.ones(len(some), dtype=bool)
    groups = {
        "entailing": cosines(labels == "entailment", own),
        "neutral": cosines(labels == "neutral", own),
        "irrelevant": cosines(every, drawn),
    }
    return Relevance("similarity of hypothesis and premise", encoder.name, groups, (-1.0, 1.0))
