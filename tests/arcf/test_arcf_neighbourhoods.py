"""Visible facts, and hops to gold facts."""

from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
import pytest

from entail.arcf.chains.neighbourhoods import Neighbourhoods, neighbour_ranks
from entail.data.worldtree.questions import Question, gold_positions
from entail.data.worldtree.tables import Fact, FactTables
from entail.errors import SettingsError
from entail.evaluation.chains import gold_hops
from entail.index.protocol import Floats

FACTS = FactTables(tuple(Fact(f"u{i}", f"fact {i}", "T") for i in range(5)))
NEAR = {
    "question answer": [0.9, 0.8, 0.0, 0.1, 0.0],
    "fact 0": [1.0, 0.5, 0.9, 0.5, 0.0],
    "fact 1": [0.5, 1.0, 0.0, 0.0, 0.0],
    "fact 2": [0.9, 0.0, 1.0, 0.0, 0.7],
    "fact 3": [0.5, 0.0, 0.0, 1.0, 0.0],
    "fact 4": [0.0, 0.0, 0.7, 0.0, 1.0],
}
QUESTION = Question("Q", "question", "answer", {"u0": "CENTRAL", "u2": "CENTRAL", "u4": "LEXGLUE"})


def similarities(texts: Sequence[str]) -> Floats:
    return np.array([NEAR[text] for text in texts], dtype=np.float32)


def neighbours(k: int) -> Neighbourhoods:
    return Neighbourhoods(FACTS, k=k, similarities=similarities)


def test_a_fact_is_no_neighbour_of_its_own() -> None:
    near = neighbours(2)
    assert near.of_text("question answer").tolist() == [0, 1]
    assert near.of_fact(0).tolist() == [2, 1]  # 1 and 3 are equally near: the first of them
    assert near.of_fact(1).tolist() == [0, 2]


def test_what_is_visible_grows_with_the_chain() -> None:
    near = neighbours(2)
    nearest = near.of_text("question answer")
    assert near.visible(nearest, []) == [0, 1]
    assert near.visible(nearest, [0]) == [1, 2]
    assert near.visible(nearest, [0, 2]) == [1, 4]
    assert near.visible(nearest, [0, 1, 2]) == [4]


def test_a_sentence_is_not_visible_beside_itself_in_another_table() -> None:
    texts = "fact 0", "Fact 0", "fact 2"
    facts = FactTables(tuple(Fact(f"u{i}", text, "T") for i, text in enumerate(texts)))
    near = Neighbourhoods(facts, k=2, similarities=lambda batch: np.ones((len(batch), 3), dtype=np.float32))
    nearest = near.of_text("question")
    assert near.visible(nearest, []) == [0, 1]
    assert near.visible(nearest, [0]) == near.visible(nearest, [1]) == [2]


def test_k_beyond_the_facts_sees_all() -> None:
    near = neighbours(99)
    assert near.k == 5
    assert sorted(near.of_fact(3).tolist()) == [0, 1, 2, 4]
    assert near.visible(near.of_text("question answer"), [0, 1, 2, 3, 4]) == []
    with pytest.raises(SettingsError, match="found 0"):
        neighbours(0)


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    single, many = neighbours(3), neighbours(3)
    many.prepare([0, 1, 2, 3, 4, 0])
    for fact in range(5):
        assert single.of_fact(fact).tolist() == many.of_fact(fact).tolist()


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_k_that_is_needed_is_the_one_at_which_it_is_seen(k: int) -> None:
    near, gold = neighbours(k), gold_positions(QUESTION, FACTS)
    ranks = neighbour_ranks(QUESTION, gold, near)
    nearest = near.of_text(QUESTION.text)
    assert (ranks.direct <= k).tolist() == [fact in nearest for fact in gold]
    links = np.array([[other in near.of_fact(fact) for other in gold] for fact in gold])
    off = ~np.eye(3, dtype=bool)
    assert ((ranks.links <= k) & off).tolist() == (links & off).tolist()
    assert ranks.hops(k) == gold_hops(ranks.direct <= k, links)


def test_reach_by_hand(load_script: Callable[[str], ModuleType]) -> None:
    measure_reach = load_script("reproduce_arcf").measure_reach
    reach = measure_reach([QUESTION], neighbours(2), ks=[1, 2, 5])
    # k = 1: the question sees u0, u0 sees u2, u2 sees u0 only; k = 2: u2 sees u4, too.
    assert reach[1] == {"reached": pytest.approx(2 / 3), "facts": 3, "hops": {"1": 1, "2": 1, "infinity": 1}}
    assert reach[2]["hops"] == {"1": 1, "2": 1, "3": 1}
    assert reach[5] == {"reached": 1.0, "facts": 3, "hops": {"1": 3}}
    assert measure_reach([], neighbours(2), ks=[2])[2]["reached"] == 0.0
