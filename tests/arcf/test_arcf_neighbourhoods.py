"""Visible facts."""

from collections.abc import Sequence

import numpy as np
import pytest

from entail.arcf.neighbourhoods import Neighbourhoods
from entail.data.worldtree.tables import Fact, FactTables
from entail.errors import SettingsError
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


def similarities(texts: Sequence[str]) -> Floats:
    return np.array([NEAR[text] for text in texts], dtype=np.float32)


def neighbours(k: int) -> Neighbourhoods:
    return Neighbourhoods(FACTS, k=k, similarities=similarities)


def test_what_is_visible_grows_with_the_chain() -> None:
    near = neighbours(2)
    nearest = near.of_text("question answer")
    assert nearest.tolist() == [0, 1]
    assert near.of_fact(0).tolist() == [2, 1]  # without itself; 1 and 3 are equally near: the first of them
    visible = {(): [0, 1], (0,): [1, 2], (0, 2): [1, 4], (0, 1, 2): [4]}
    assert {chain: near.visible(nearest, chain) for chain in visible} == visible


def test_a_sentence_of_another_table_is_not_visible_after_its_equal() -> None:
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
    with pytest.raises(SettingsError):
        neighbours(0)
