"""A chain against a known explanation, and several methods on one question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from entail.arcf.chains.chain import Search
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import ChainRanker, SingleFactRanker
from entail.arcf.chains.stepwise import NearestSteps, Step, Walk, follow, step
from entail.arcf.scoring.listing import ListedScorer
from entail.arcf.scoring.scorer import Scorer
from entail.data.text import premise_key
from entail.data.worldtree.questions import CENTRAL, GROUNDING, Question
from entail.data.worldtree.tables import FactTables
from entail.evaluation.chains import Similarities, ap, tfidf_rankings
from entail.index.protocol import Ints
from entail.progress import ProgressCallback

SCORED_ALONE = 200
"""Premises nearest to the question that a scorer of single premises scores; `entail rank` scores all."""

WORDS, GREEDY = "TF-IDF", "TF-IDF, chain"
"""Names of the two baselines."""

# Of eighteen questions, explained before a scorer ranked them, the one on which the packaged scorer finds the
# largest share and stops by itself: an example to start with, not a measure of quality.
EXAMPLE = Question(
    "question",
    "How does a trout get oxygen in a stream?",
    "it breathes water with its gills",
    {
        premise_key(text): role
        for text, role in {
            "trout is a kind of fish": GROUNDING,
            "a fish is a kind of aquatic animal": GROUNDING,
            "gills are a part of trout": CENTRAL,
            "gills are used for breathing water by aquatic animals": CENTRAL,
            "water contains dissolved oxygen": CENTRAL,
        }.items()
    },
)
"""Example over the bundled corpus, with its explanation."""


@dataclass(frozen=True)
class GoldPremise:
    """A gold premise and where a chain has it.

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
        chosen = sum(row.step is not None for row in self.rows)
        never = sum(row.visible is None for row in self.rows)
        parts = [f"{chosen} of {len(self.rows)} gold premises in the chain"]
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
        ranks = {
            name: {int(fact): rank for rank, fact in enumerate(ranking, start=1)}
            for name, ranking in self.rankings.items()
        }
        chosen = [*gold, *(int(fact) for ranking in self.rankings.values() for fact in ranking[:first])]
        rows = [(fact, {name: of[fact] for name, of in ranks.items()}) for fact in dict.fromkeys(chosen)]
        return sorted(rows, key=lambda row: (min(row[1].values()), row[0]))


def gold_roles(question: Question, facts: FactTables) -> dict[int, str]:
    """Return the roles of the gold premises in the tables, by position."""
    return {facts.positions[uid]: role for uid, role in question.gold.items() if uid in facts.positions}


def locate_gold(question: Question, facts: FactTables, walk: Walk, ranking: Ints) -> GoldCoverage | None:
    """Return where the gold premises are in a chain and its ranking; None if none is known."""
    roles = gold_roles(question, facts)
    if not roles:
        return None
    ranks = np.empty(len(facts), dtype=np.int64)
    ranks[ranking] = np.arange(1, len(ranking) + 1)
    visible: dict[int, int] = {}
    for number, one in enumerate(walk.steps, start=1):
        for fact in one.candidates:
            visible.setdefault(fact, number)
    chosen = {fact: number for number, fact in enumerate(walk.facts, start=1)}
    rows = (
        GoldPremise(fact, role, chosen.get(fact), int(ranks[fact]), visible.get(fact))
        for fact, role in roles.items()
    )
    return GoldCoverage(
        tuple(sorted(rows, key=lambda row: row.rank)),
        precision_of(question, facts, ranking),
        len(question.gold) - len(roles),
    )


def precision_of(question: Question, facts: FactTables, ranking: Ints) -> float:
    """Return the average precision of a ranking of all premises, as the shared task scores it."""
    positions = [facts.positions.get(uid) for uid in question.gold]
    if not positions or None in positions:
        return 0.0
    ranks = np.empty(len(facts))
    ranks[ranking] = np.arange(1, len(ranking) + 1)
    return ap(np.array([ranks[position] for position in positions]))


def select_candidates(step: Step, roles: Mapping[int, str], which: str) -> list[tuple[int, int]]:
    """Return (rank, position) of a step's candidates, best first, rank from 1.

    Args:
        step: The step.
        roles: Roles of the gold premises.
        which: `all`, `joined` (made visible by the last chosen premise) or `gold`.
    """
    allowed = {"joined": step.joined, "gold": frozenset(roles)}.get(which)
    rows = enumerate(step.candidates, start=1)
    return [(rank, fact) for rank, fact in rows if allowed is None or fact in allowed]


def compare_methods(
    question: Question,
    facts: FactTables,
    scorers: Sequence[ListedScorer],
    near: Similarities,
    *,
    load: Callable[[ListedScorer], Scorer],
    k: int,
    length: int,
    progress: ProgressCallback | None = None,
) -> MethodComparison:
    """Rank the premises of one question by TF-IDF, by the baseline's chain and by each scorer.

    Args:
        question: The question.
        facts: All premises.
        scorers: Scorers to compare.
        near: Similarities by TF-IDF.
        load: Loads a scorer.
        k: Neighbours of each premise.
        length: Most premises of a chain.
        progress: Called with the progress.

    Raises:
        EntailError: If a scorer cannot be loaded, or a score is not finite.
    """
    search, around = Search(length=length), Neighbourhoods(facts, k=k, similarities=near)
    first, words = around.of_text(question.text), NearestSteps(around)
    walk = follow(lambda chosen: step(question, first, chosen, words, around), search)
    (by_words,) = tfidf_rankings([question], near)
    rankings: dict[str, Ints] = {WORDS: by_words, GREEDY: walk.ranking(question, around)}
    chains = {GREEDY: walk.facts}
    for listed in scorers:
        scorer = load(listed)
        own = around
        if scorer.form.metric != around.metric:
            own = Neighbourhoods(facts, k=k, metric=scorer.form.metric, progress=progress)
        if listed.form.scheme == "single-fact":
            (one,) = SingleFactRanker(scorer, own, first=SCORED_ALONE).rank([question], progress=progress)
        else:
            (one,) = ChainRanker(scorer, own, search=search).rank([question], progress=progress)
        rankings[listed.name] = one.ranking
        if one.chain is not None:
            chains[listed.name] = one.chain.facts
    return MethodComparison(rankings, chains)
