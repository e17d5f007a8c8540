"""A chain against a known explanation, and methods compared on one question."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.arcf.chains.chain import Chain, Search, Step, build_chain, corpus_facts
from entail.arcf.chains.comparison import (
    GREEDY,
    WORDS,
    MethodComparison,
    compare_methods,
    locate_gold,
    select_candidates,
)
from entail.arcf.chains.example import EXAMPLE
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import ListedScorer, Scorer, ScorerForm, load_scorer
from entail.data.bundled import sample_corpus
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from tests.arcf.conftest import FakeScorer

FACTS = FactTables(tuple(Fact(f"u{i}", f"f{i}", "T") for i in range(5)))
QUESTION = Question("Q", "q", "a", {"u0": "CENTRAL", "u3": "LEXGLUE", "u4": "NEG"})
SECOND = Step((0,), (2, 1, 3), (0.8, 0.2, 0.1), 0.5, frozenset({2, 3}))
CHAIN = Chain((0, 2), (Step((), (0, 1), (0.9, 0.1), 0.5, frozenset({0, 1})), SECOND), "length")


def test_the_packaged_scorer_finds_most_of_the_example() -> None:
    facts, scorer = (
        corpus_facts(sample_corpus()),
        load_scorer(str(Path(__file__).parents[2] / "models" / "arcf-minilm")),
    )
    assert set(EXAMPLE.gold) <= set(facts.positions)
    near = Neighbourhoods(facts, k=60)
    chain = build_chain(EXAMPLE, PremiseScorer(scorer, facts), near, Search())
    coverage = locate_gold(EXAMPLE, facts, chain, chain.ranking(EXAMPLE, near))
    assert str(coverage).startswith("3 of 5 gold premises in the chain")


def test_gold_premises_are_located() -> None:
    coverage = locate_gold(QUESTION, FACTS, CHAIN, np.array([0, 2, 1, 3, 4]))
    assert coverage is not None
    rows = [(row.position, row.step, row.rank, row.visible) for row in coverage.rows]
    assert rows == [(0, 1, 1, 1), (3, None, 4, 2), (4, None, 5, None)]
    assert str(coverage) == "1 of 3 gold premises in the chain, 1 never visible"
    assert coverage.precision == pytest.approx((1 + 2 / 4 + 3 / 5) / 3)
    assert locate_gold(Question("Q", "q", "a", {}), FACTS, CHAIN, np.arange(5)) is None


@pytest.mark.parametrize(
    ("which", "rows"),
    [("all", [(1, 2), (2, 1), (3, 3)]), ("joined", [(1, 2), (3, 3)]), ("gold", [(3, 3)])],
)
def test_candidates_are_selected_by_kind(which: str, rows: list[tuple[int, int]]) -> None:
    assert select_candidates(SECOND, {3: "CENTRAL"}, which) == rows


def test_methods_are_compared_by_rank() -> None:
    rows = MethodComparison({"a": np.array([2, 0, 1]), "b": np.array([0, 1, 2])}, {}).rows(first=1, gold=(1,))
    assert rows == [(0, {"a": 2, "b": 1}), (2, {"a": 1, "b": 3}), (1, {"a": 3, "b": 2})]
    scorer = Scorer("chains", "chains@1", ScorerForm(), FakeScorer(lambda a, b: float(len(b))))
    listed = [ListedScorer("chains", scorer.form, "1")]

    def near(texts: Any) -> Any:
        return np.tile(-np.arange(5, dtype=np.float32), (len(texts), 1))

    comparison = compare_methods(QUESTION, FACTS, listed, near, load=lambda entry: scorer, k=3, length=2)
    assert list(comparison.rankings) == [WORDS, GREEDY, "chains"]
    assert comparison.chains[GREEDY] == (0, 1)
    assert all(sorted(ranking.tolist()) == [0, 1, 2, 3, 4] for ranking in comparison.rankings.values())
