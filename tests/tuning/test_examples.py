"""Questions beside their passages: gold, hard negatives, claims, and what of a long passage is read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.nli.pairs import NliPair
from entail.data.passages.files import Question
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.tuning.examples import (
    answer_position,
    entailed_pairs,
    examples_of,
    excerpt,
    with_missing_negatives,
)

POOL = (
    "p0\tIce melts at 0 degrees and water freezes there\n"
    "p1\tWater freezes where the melting ice of a lake is cold\n"
    "p2\tIce melts in 10 minutes when it is warm\n"
    "p3\tRome won the war\n"
    "p4\tIce melts   at 0 degrees and water freezes there\n"
)
ASKED = Question("a", "At how many degrees does ice melt?", ("0",), ("p0", "p9"), ("p3",))


@pytest.fixture
def store(tmp_path: Path) -> PassageStore:
    (tmp_path / "pool.tsv").write_text(POOL, encoding="utf-8")
    return store_passages([tmp_path / "pool.tsv"], tmp_path / "kept")


def test_gold_passages_are_looked_up_and_their_absence_is_counted(store: PassageStore) -> None:
    examples = examples_of(store, [ASKED, Question("b", "What else?", (), ("p8",))])
    assert [example.gold for example in examples.examples] == [(0,)]
    assert examples.examples[0].negatives == (3,)
    assert examples.to_json() == {
        "questions": 1,
        "questions_without_gold": 1,
        "passages": 5,
        "hard_negatives": 1,
    }


def test_bm25_serves_questions_without_negatives_and_what_holds_the_answer_is_none(
    store: PassageStore,
) -> None:
    alone = replace(ASKED, id="b", hard_negatives=())
    before = examples_of(store, [ASKED, alone, replace(ASKED, id="c")])
    after = with_missing_negatives(before, depth=5)
    first, second, third = after.examples
    assert (first.negatives, third.negatives) == ((3,), (3,))
    assert set(second.negatives) == {1, 2}  # p4 says the same as p0; p1 and p2 only look alike
    assert after.digest != before.digest
    assert with_missing_negatives(before, depth=0) == before


def test_a_claim_stands_beside_its_passage_and_false_pairs_are_left_out(store: PassageStore) -> None:
    nli = [
        NliPair("It rains.", "It is wet.", "entailment"),
        NliPair("It rains. ", "It is  wet.", "entailment"),
        NliPair("It rains.", "It is dry.", "contradiction"),
        NliPair("It rains.", " ", "entailment"),
    ]
    pairs = entailed_pairs(examples_of(store, [ASKED]), nli, words=4)
    assert [pair.premise for pair in pairs] == ["melts at 0 degrees", "It rains."]
    assert pairs[1].hypothesis == "It is wet."
    assert pairs[0].hypothesis.startswith("There exists a known number of degrees")
    assert "?" not in pairs[0].hypothesis


def test_where_a_passage_is_cut_does_not_tell_whether_it_is_gold() -> None:
    draw = np.random.default_rng(0)
    begins: dict[str, list[bool]] = {"gold": [], "negative": []}
    for gold_length, other_length in draw.integers(20, 300, size=(2000, 2)).tolist():
        gold, other = ([f"w{i}" for i in range(length)] for length in (gold_length, other_length))
        gold[int(draw.integers(gold_length))] = "answer"
        text = " ".join(gold)
        cut = excerpt(text, words=50, answers=["Answer"])
        assert "answer" in cut.split()
        begins["gold"].append(cut.split()[0] != gold[0])
        share = answer_position(text, ["Answer"])
        begins["negative"].append(excerpt(" ".join(other), words=50, share=share).split()[0] != other[0])
    shares = [float(np.mean(flags)) for flags in begins.values()]
    assert shares[0] > 0.5
    assert shares[0] == pytest.approx(shares[1], abs=0.03)


@given(st.lists(st.sampled_from(["a", "b", "Cc", "d-e"]), min_size=1, max_size=30), st.integers(1, 12))
def test_an_excerpt_is_a_part_that_holds_the_answer(words: list[str], count: int) -> None:
    text, answer = " ".join(words), words[-1]
    part = excerpt(text, words=count, answers=["nowhere", answer.lower()])
    assert len(part.split()) == min(count, len(words))
    assert f" {part} " in f" {text} "
    assert answer.lower() in part.lower()
