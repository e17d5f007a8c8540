"""Comparison of a chain with a known explanation, and of several methods on one question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from entail.arcf.chains.chain import Chain, NearestSteps, Search, Step, StepScorer, build_chain
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import ListedScorer, Scorer
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.evaluation.chains import Similarities, ap, tfidf_rankings
from entail.index.protocol import Ints
from entail.progress import ProgressCallback

WORDS, GREEDY = "TF-IDF", "TF-IDF, chain"
"""Names of the two baselines."""


@dataclass(frozen=True)
class GoldPremise:
    """A gold premise and its place in a chain.

    Attributes:
        position: Position in the tables.
        role: Role in the explanation.
        step: Step that chose it, from 1; None where it is not in the chain.
        rank: Rank among all premises, from 1.
        visible: First step, from 1, at which it was visible; None if it never was.
    """

    position: int
    role: str
    step: int | None
    rank: int
    visible: int | None


@dataclass(frozen=True)
class GoldCoverage:
    """Coverage of a known explanation by a chain.

    Attributes:
        rows: Gold premises in order of rank.
        precision: Average precision of the ranking; 0 where a gold premise is in no table, as it is scored.
        missing: Gold premises that are in no table.
    """

    rows: tuple[GoldPremise, ...]
    precision: float
    missing: int

    def __str__(self) -> str:
        count = sum(row.step is not None for row in self.rows)
        never = sum(row.visible is None for row in self.rows)
        parts = [f"{count} of {len(self.rows)} gold premises in the chain"]
        parts += [f"{never} never visible"] if never else []
        parts += [f"{self.missing} in no table"] if self.missing else []
        return ", ".join(parts)


@dataclass(frozen=True)
class MethodComparison:
    """Premises of one question, ranked by several methods.

    Attributes:
        rankings: Method -> all premises, best first.
        chains: Method -> its chain, where it builds one.
    """

    rankings: Mapping[str, Ints]
    chains: Mapping[str, tuple[int, ...]]

    def rows(self, *, first: int, gold: Sequence[int] = ()) -> list[tuple[int, dict[str, int]]]:
        """Return premises with their ranks, from 1, by each method.

        They are the first ones of each ranking and the gold ones, by best rank, then by position.
        """
        ranks = {name: _ranks(ranking) for name, ranking in self.rankings.items()}
        facts = [*gold, *(int(fact) for ranking in self.rankings.values() for fact in ranking[:first])]
        rows = [(fact, {name: int(of[fact]) for name, of in ranks.items()}) for fact in dict.fromkeys(facts)]
        return sorted(rows, key=lambda row: (min(row[1].values()), row[0]))


def gold_roles(question: Question, facts: FactTables) -> dict[int, str]:
    """Return the roles of the gold premises in the tables, by position."""
    return {facts.positions[uid]: role for uid, role in question.gold.items() if uid in facts.positions}


def locate_gold(question: Question, facts: FactTables, chain: Chain, ranking: Ints) -> GoldCoverage | None:
    """Return the places of the gold premises in a chain and its ranking; None if none is known."""
    roles = gold_roles(question, facts)
    if not roles:
        return None
    ranks = _ranks(ranking)
    visible: dict[int, int] = {}
    for number, step in enumerate(chain.steps, start=1):
        for fact in step.candidates:
            visible.setdefault(fact, number)
    chain_steps = {fact: number for number, fact in enumerate(chain.facts, start=1)}
    rows = (
        GoldPremise(fact, role, chain_steps.get(fact), int(ranks[fact]), visible.get(fact))
        for fact, role in roles.items()
    )
    return GoldCoverage(
        tuple(sorted(rows, key=lambda row: row.rank)),
        precision_of(question, facts, ranking),
        len(question.gold) - len(roles),
    )


def precision_of(question: Question, facts: FactTables, ranking: Ints) -> float:
    """Return the average precision of a ranking of all premises, as the shared task scores it."""
    positions = [facts.positions[uid] for uid in question.gold if uid in facts.positions]
    if not positions or len(positions) < len(question.gold):
        return 0.0
    return ap(_ranks(ranking)[positions].astype(np.float64))


def _ranks(ranking: Ints) -> Ints:
    """Return the rank of each premise in a ranking of all, from 1."""
    ranks = np.empty_like(ranking)
    ranks[ranking] = np.arange(1, len(ranking) + 1)
    return ranks


def select_candidates(step: Step, roles: Mapping[int, str], which: str) -> list[tuple[int, int]]:
    """Return (rank, position) of all, newly visible or gold candidates of a step, best first, rank from 1."""
    allowed = {"joined": step.newly_visible, "gold": frozenset(roles)}.get(which)
    rows = enumerate(step.candidates, start=1)
    return [(rank, fact) for rank, fact in rows if allowed is None or fact in allowed]


def compare_methods(
    question: Question,
    facts: FactTables,
    scorers: Sequence[ListedScorer],
    similarities: Similarities,
    *,
    load: Callable[[ListedScorer], Scorer],
    k: int,
    length: int,
    progress: ProgressCallback | None = None,
) -> MethodComparison:
    """Rank the premises of one question by TF-IDF, by the baseline's chain and by each scorer.

    Raises:
        EntailError: If a scorer cannot be loaded, or a score is not finite.
    """
    (by_words,) = tfidf_rankings([question], similarities)
    rankings: dict[str, Ints] = {WORDS: by_words}
    chains: dict[str, tuple[int, ...]] = {}

    def add(name: str, steps: StepScorer, near: Neighbourhoods) -> None:
        chain = build_chain(question, steps, near, Search(length=length))
        rankings[name], chains[name] = chain.ranking(question, near), chain.facts

    near = Neighbourhoods(facts, k=k, similarities=similarities)
    add(GREEDY, NearestSteps(near), near)
    for listed in scorers:
        scorer = load(listed)
        own = near
        if scorer.form.metric != near.metric:
            own = Neighbourhoods(facts, k=k, metric=scorer.form.metric, progress=progress)
        add(listed.name, PremiseScorer(scorer, facts), own)
    return MethodComparison(rankings, chains)
