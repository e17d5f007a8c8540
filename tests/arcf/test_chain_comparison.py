"""A chain against a known explanation."""

from pathlib import Path

from entail.arcf.chains.chain import Chain, Search, Step, build_chain, corpus_facts
from entail.arcf.chains.comparison import locate_gold
from entail.arcf.chains.example import EXAMPLE
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import load_scorer
from entail.data.bundled import sample_corpus
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables

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
    coverage = locate_gold(EXAMPLE, facts, chain)
    assert str(coverage).startswith("3 of 5 gold premises in the chain")


def test_gold_premises_are_located() -> None:
    coverage = locate_gold(QUESTION, FACTS, CHAIN)
    assert coverage is not None
    rows = [(row.position, row.step, row.visible) for row in coverage.rows]
    assert rows == [(0, 1, 1), (3, None, 2), (4, None, None)]
    assert str(coverage) == "1 of 3 gold premises in the chain, 1 never visible"
    assert locate_gold(Question("Q", "q", "a", {}), FACTS, CHAIN) is None
