"""Existence claims: accepted claims of each rule, and what no claim may be."""

import csv
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.claims import FALLBACK, RULES, existence_claim, lexicon, missing_words
from entail.claims.claims import MAX_LENGTH
from entail.claims.tags import MODALS, WH

GOLDEN = list(
    csv.reader(
        Path(__file__).with_name("golden.tsv").read_text(encoding="utf-8").splitlines(),
        delimiter="\t",
        quoting=csv.QUOTE_NONE,
    )
)
WORDS = sorted({word for _, question, _ in GOLDEN for word in question.split()})


@pytest.mark.parametrize(("rule", "question", "text"), GOLDEN, ids=[row[1][:50] for row in GOLDEN])
def test_questions_become_accepted_claims(rule: str, question: str, text: str) -> None:
    claim = existence_claim(question)
    assert (claim.rule, claim.text) == (rule, text)
    assert claim.question == question


@pytest.mark.parametrize(("rule", "example"), RULES.items())
def test_each_rule_fits_its_example(rule: str, example: str) -> None:
    claim = existence_claim(example)
    assert claim.rule == rule
    assert claim.fallback == (claim.rule in FALLBACK)


@pytest.mark.parametrize(
    "question", ["", "   ", "???", "\u2026", "谁写了红楼梦\uff1f", "متى ولد نيوتن؟", "who", "did", "Is"]
)
def test_texts_that_are_hardly_questions_have_claims(question: str) -> None:
    text = existence_claim(question).text
    assert text.endswith(".")
    assert not set("?\uff1f؟") & set(text)


SHORT = sorted(WH | MODALS | {"did", "was", "the", "(A)", "(B)", "___", "that", "of", "Ice,"})


@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
    | st.lists(st.sampled_from(SHORT)).map(" ".join)
)
def test_any_text_has_a_claim(question: str) -> None:
    claim = existence_claim(question)
    assert claim == existence_claim(question)
    assert claim.rule in RULES
    assert claim.text.strip()
    assert "?" not in claim.text


@given(st.sampled_from(GOLDEN))
def test_a_claim_claims_itself(row: list[str]) -> None:
    text = row[2]
    assert not missing_words(text, existence_claim(text).text)


def steps(question: str) -> int:
    """Return how many lines of the package run for a question: a measure of cost that no clock disturbs."""
    count = 0

    def trace(frame: object, event: str, arg: object) -> object:
        nonlocal count
        code = frame.f_code  # type: ignore[attr-defined]  # of the type of frames
        if "claims" not in code.co_filename:
            return None
        count += 1
        return trace

    sys.settrace(trace)
    try:
        existence_claim(question)
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize("text", ["a", "what is ", "who? ", '"?"', "(A) ", "__", "did the team ", ". What "])
def test_cost_of_long_texts_does_not_grow(text: str) -> None:
    existence_claim("Who won?")
    short, long = (steps("When did " + text * (size // len(text))) for size in (MAX_LENGTH + 100, 40_000))
    assert long <= short + 10


@pytest.mark.parametrize(
    ("base", "past"),
    [
        *(("embed", "embedded"), ("babysit", "babysat"), ("panic", "panicked")),
        *(("win", "won"), ("carry", "carried")),
    ],
)
def test_pasts_are_spelled_right(base: str, past: str) -> None:
    assert lexicon.inflect(base, "past") == past
    assert lexicon.base_form(past, "past") == base
