"""Prefixes and candidates as token ids; batches of like length."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.arcf.scoring.inputs import Inputs, question_text
from entail.encoders.cross.pairs import read_tokenizer
from entail.encoders.row_batches import token_batches


@pytest.fixture
def inputs(fake: Any) -> Inputs:
    scorer = fake(lambda a, b: 0.0)
    return Inputs(scorer.tokenize, scorer.frame, max_length=16, facts=["a b", "c d e", "f"])


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


def test_the_oldest_facts_are_dropped_first(inputs: Inputs) -> None:
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


def test_no_row_is_longer_than_what_is_read(fake: Any) -> None:
    scorer = fake(lambda a, b: 0.0)
    inputs = Inputs(scorer.tokenize, scorer.frame, max_length=16, facts=["x " * 50, "y", "z " * 9])
    (question,) = inputs.questions([("q " * 40, "s")])
    for facts in ([], [0], [0, 1, 2]):
        prefix = inputs.prefix(question, facts)
        assert all(inputs.tokens((prefix.ids, candidate)) <= 16 for candidate in [(), *inputs.candidates])
        assert prefix.ids
    # Each has 6 tokens, half of what is left of 16 beside the 3 special ones.
    assert [len(ids) for ids in inputs.candidates] == [6, 1, 6]


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(60, 400))
def test_every_row_is_in_one_batch_within_the_budget(lengths: list[int], budget: int) -> None:
    dealt = token_batches(lengths, budget=budget)
    assert sorted(np.concatenate([np.empty(0, np.int64), *dealt]).tolist()) == list(range(len(lengths)))
    for batch in dealt:
        assert len(batch) * max(lengths[i] for i in batch) <= budget
        assert [lengths[i] for i in batch] == sorted(lengths[i] for i in batch)
