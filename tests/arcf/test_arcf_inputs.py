"""Prefixes, candidates and visible premises of a question."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.inputs import Inputs, question_text
from entail.data.worldtree.tables import Fact, FactTables
from entail.encoders.cross.pairs import read_tokenizer
from entail.errors import SettingsError
from entail.index.protocol import Floats
from tests.arcf.conftest import FakeScorer


def inputs_of(facts: Sequence[str]) -> Inputs:
    scorer = FakeScorer(lambda a, b: 0.0)
    return Inputs(scorer.tokenize, scorer.frame, max_length=16, facts=facts)


def test_a_row_is_what_the_tokenizer_itself_makes(tiny_models: Path) -> None:
    from transformers import AutoTokenizer

    text = (tiny_models / "tiny" / "tokenizer.json").read_text(encoding="utf-8")
    tokenize, frame = read_tokenizer(text, name="tiny")
    assert frame.typed
    facts = ["ba be bi", "fo fu"]
    inputs = Inputs(tokenize, frame, max_length=64, facts=facts)
    (question,) = inputs.questions([("da de?", "do")])
    row = frame.row((inputs.prefix(question, [1]).ids, inputs.candidates[0]))
    theirs = AutoTokenizer.from_pretrained(str(tiny_models / "tiny"))(
        question_text("da de?", "do") + " fo fu.", "ba be bi"
    )
    assert row == theirs["input_ids"]
    first = frame.first((inputs.prefix(question, [1]).ids, ()))
    assert [int(at >= first) for at in range(len(row))] == theirs["token_type_ids"]
    assert tokenize(["ba \ud800"]) == tokenize(["ba \ufffd"])


def test_the_oldest_facts_are_dropped_first() -> None:
    inputs = inputs_of(["a b", "c d e", "f"])
    (question,) = inputs.questions([("q r", "s")])  # q r (answer) s. (explanation): 5 tokens
    assert len(question) == 5
    # Of 16 tokens 3 are special and 3 kept for the longest candidate: 10 are left.
    assert inputs.prefix(question, [0, 1]).dropped == 0
    longer = inputs.prefix(question, [0, 1, 2])
    assert longer.dropped == 1
    assert longer.ids == (*question, *inputs.prefix((), [1, 2]).ids)
    cut = inputs.prefix(tuple(range(20, 40)), [0])
    assert cut.dropped == -1
    assert cut.ids == tuple(range(30, 40))


def test_no_row_is_longer_than_what_is_read() -> None:
    inputs = inputs_of(["x " * 50, "y", "z " * 9])
    (question,) = inputs.questions([("q " * 40, "s")])
    for facts in ([], [0], [0, 1, 2]):
        prefix = inputs.prefix(question, facts)
        assert all(inputs.tokens((prefix.ids, candidate)) <= 16 for candidate in [(), *inputs.candidates])
        assert prefix.ids
    # Each has 6 tokens, half of what is left of 16 beside the 3 special ones.
    assert [len(ids) for ids in inputs.candidates] == [6, 1, 6]


FACTS = FactTables(tuple(Fact(f"u{i}", f"fact {i}", "T") for i in range(5)))
NEAR = {
    "question answer": [0.9, 0.8, 0.0, 0.1, 0.0],
    "fact 0": [1.0, 0.5, 0.9, 0.5, 0.0],
    "fact 1": [0.5, 1.0, 0.0, 0.0, 0.0],
    "fact 2": [0.9, 0.0, 1.0, 0.0, 0.7],
    "fact 3": [0.5, 0.0, 0.0, 1.0, 0.0],
    "fact 4": [0.0, 0.0, 0.7, 0.0, 1.0],
}


def neighbours(k: int) -> Neighbourhoods:
    def similarities(texts: Sequence[str]) -> Floats:
        return np.array([NEAR[text] for text in texts], dtype=np.float32)

    return Neighbourhoods(FACTS, k=k, similarities=similarities)


def test_what_is_visible_grows_with_the_chain() -> None:
    near = neighbours(2)
    nearest = near.of_text("question answer")
    assert nearest.tolist() == [0, 1]
    assert near.of_fact(0).tolist() == [2, 1]  # without itself; 1 and 3 are equally near: the first of them
    visible = {(): [0, 1], (0,): [1, 2], (0, 2): [1, 4], (0, 1, 2): [4]}
    assert {chain: near.visible(nearest, chain) for chain in visible} == visible
    everything = neighbours(99)  # k beyond the facts sees all
    assert everything.k == 5
    assert sorted(everything.of_fact(3).tolist()) == [0, 1, 2, 4]
    assert everything.visible(everything.of_text("question answer"), [0, 1, 2, 3, 4]) == []
    with pytest.raises(SettingsError):
        neighbours(0)


def test_a_sentence_of_another_table_is_not_visible_after_its_equal() -> None:
    texts = "fact 0", "Fact 0", "fact 2"
    facts = FactTables(tuple(Fact(f"u{i}", text, "T") for i, text in enumerate(texts)))
    near = Neighbourhoods(facts, k=2, similarities=lambda batch: np.ones((len(batch), 3), dtype=np.float32))
    nearest = near.of_text("question")
    assert near.visible(nearest, []) == [0, 1]
    assert near.visible(nearest, [0]) == near.visible(nearest, [1]) == [2]
