"""Existence claims: accepted claims of each rule, and what no claim may be."""

import csv
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.claims import FALLBACK, RULES, existence_claim, missing_words
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


def test_the_accepted_claims_are_of_every_rule() -> None:
    counts = Counter(rule for rule, _, _ in GOLDEN)
    assert set(counts) == set(RULES)
    assert 60 <= len(GOLDEN) <= 90


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_each_rule_fits_its_example(rule: object) -> None:
    claim = existence_claim(rule.example)  # type: ignore[attr-defined]  # ids= takes the bare object
    assert claim.rule == rule.name  # type: ignore[attr-defined]
    assert claim.fallback == (claim.rule in FALLBACK)


@pytest.mark.parametrize(
    "question",
    [
        "When did the hockey team won the cup?",
        "How did you reminded me come out?",
        "At what pier did a foreign fleet attacked a guard?",
        "Did the plane landed a mile away?",
        "Why did the crew of the ship left the port?",
    ],
)
def test_nothing_is_inflected_where_another_verb_is_finite(question: str) -> None:
    words = set(re.findall(r"\w+", question.lower()))
    made = set(re.findall(r"\w+", existence_claim(question).text.lower()))
    frame = set(re.findall(r"\w+", "there exists a known time when in way which at reason why it is whether"))
    assert made - frame <= words


@pytest.mark.parametrize(
    "question", ["", "   ", "???", "\u2026", "谁写了红楼梦\uff1f", "متى ولد نيوتن؟", "who", "did", "Is"]
)
def test_texts_that_are_hardly_questions_have_claims(question: str) -> None:
    text = existence_claim(question).text
    assert text.endswith(".")
    assert not set("?\uff1f؟") & set(text)


def check(question: str) -> None:
    claim = existence_claim(question)
    assert claim == existence_claim(question)
    assert claim.rule in RULES
    assert claim.text.strip()
    assert "?" not in claim.text


@given(st.text(max_size=80))
def test_any_text_has_a_claim(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))
def test_any_order_of_words_has_a_claim(question: str) -> None:
    check(question)


@given(
    st.lists(
        st.sampled_from(
            sorted(WH | MODALS | {"did", "was", "the", "(A)", "(B)", "___", "that", "of", "Ice,"})
        )
    )
)
def test_any_order_of_function_words_has_a_claim(words: list[str]) -> None:
    check(" ".join(words))


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


@pytest.mark.parametrize(
    "text",
    ["a", "word ", "what is ", "?", "who? ", '"?"', "x,", "(A) ", "__", "'", "did the team ", ". What "],
)
def test_cost_does_not_grow_faster_than_the_text(text: str) -> None:
    existence_claim("Who won?")
    short, long = (steps("When did " + text * (size // len(text))) for size in (MAX_LENGTH + 100, 40_000))
    assert long <= short + 10


def test_the_longest_text_that_is_parsed_takes_few_steps() -> None:
    assert steps(f"When did {'the team of ' * 160}win?") < 400_000


def test_long_texts_keep_all_words() -> None:
    text = "When did the army of " + "town " * 1_000 + "win?"
    claim = existence_claim(text)
    assert claim.fallback
    assert claim.text.count("town") == 1_000
