"""Exact match, F1 and ROUGE-L, by hand."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.answering.measures import exact_match, f1, longest_common, normalise, rouge_l

TEXTS = st.text(alphabet="ab c.", max_size=12)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("The Theatre", "theatre"),
        ("U.S.A.", "usa"),
        ("an  apple a day", "apple day"),
        ("The", ""),
        ("Les Misérables!", "les misérables"),
        ("well-known", "wellknown"),
        ("東京", "東京"),
    ],
)
def test_texts_are_compared_as_squad_does(text: str, same: str) -> None:
    assert normalise(text) == same


def test_the_best_of_all_accepted_answers_counts() -> None:
    assert exact_match("Denver Broncos", ["Broncos", "The Denver Broncos."]) == 1
    assert exact_match("Broncos", ["Denver"]) == 0
    assert f1("Denver Broncos", ["Carolina", "Broncos"]) == pytest.approx(2 / 3)
    # gold: a b b; answer: b b b -> two shared, P = 2/3, R = 2/3
    assert f1("x x x", ["y x x"]) == pytest.approx(2 / 3)
    assert f1("", ["y"]) == f1("y", [""]) == f1("the", ["a"]) == 0
    assert rouge_l("", ["y"]) == rouge_l("東京", ["東京"]) == 0
    assert exact_match("y", []) == f1("y", []) == rouge_l("y", []) == 0


def test_rouge_l_by_hand() -> None:
    # LCS of "the gunman kill police" with "police kill the gunman" is "the gunman", 2 of 4 and 4
    assert rouge_l("the gunman kill police", ["police kill the gunman"]) == 0.5
    # LCS "a c d", P = 3/3, R = 3/5: 2 * 1 * .6 / 1.6
    assert rouge_l("a c d", ["a b c x d"]) == pytest.approx(0.75)
    assert rouge_l("It's 3 o'clock", ["it s 3 o clock"]) == 1
    assert rouge_l("A-B", ["x", "b a b"]) == pytest.approx(0.8)


def common(first: Sequence[str], second: Sequence[str]) -> int:
    if not first or not second:
        return 0
    if first[0] == second[0]:
        return 1 + common(first[1:], second[1:])
    return max(common(first[1:], second), common(first, second[1:]))


@given(st.text(alphabet="abc", max_size=7), st.text(alphabet="abc", max_size=7))
def test_the_longest_common_subsequence_is_that_of_its_definition(first: str, second: str) -> None:
    assert longest_common(first, second) == common(first, second)


@given(TEXTS, TEXTS)
def test_figures_are_shares_and_treat_both_sides_alike(first: str, second: str) -> None:
    for measure in (f1, rouge_l):
        assert 0 <= measure(first, [second]) <= 1
        assert measure(first, [second]) == pytest.approx(measure(second, [first]))
    if normalise(first):
        assert exact_match(first, [second, first]) == f1(first, [second, first]) == 1
