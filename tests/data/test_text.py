from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.text import corpus_hash, fold, is_blank, premise_key, without_surrogates


@pytest.mark.parametrize(
    ("raw", "folded"),
    [
        ("the earth 's axis", "the earth's axis"),
        ("a , b ; c : d .", "a, b; c: d."),
        ("  a \t b\n", "a b"),
        ("a\u00a0 b", "a b"),
        ("a ( b ) ?", "a ( b ) ?"),
        ("Ice is COLD", "Ice is COLD"),
        ("a . . b", "a.. b"),
        ("", ""),
    ],
)
def test_the_two_rules(raw: str, folded: str) -> None:
    assert fold(raw) == folded


@given(st.text() | st.text(st.sampled_from(" ,.;:'a\n")))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text())
def test_every_text_has_a_key_that_white_space_does_not_change(text: str) -> None:
    assert len(premise_key(text)) == 16
    assert premise_key(f" {text}\n") == premise_key(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("\ud800", "\ufffd"),
        ("a\udc00\ud800", "a\ufffd\ufffd"),
        ("\ud83d\ude00 b", "\U0001f600 b"),
        ("\ufeffa\ud800", "\ufeffa\ufffd"),
        ("\U0001f600 ä", "\U0001f600 ä"),
    ],
)
def test_no_text_is_left_with_half_a_character(text: str, whole: str) -> None:
    assert without_surrogates(text) == whole


def test_other_texts_have_other_keys() -> None:
    assert premise_key("ice is cold") != premise_key("Ice is cold")
    assert premise_key("\ud800") != premise_key("")
    assert corpus_hash(("a", "b")) != corpus_hash(("ab",))


@pytest.mark.parametrize(
    "text",
    ["", " \n", "\u200b\u200b", "\0", "\ufeff", "\u2060\u200d\ufe0f", "\u3164", "\u2800", "\U000e0041"],
)
def test_texts_of_which_nothing_can_be_seen(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", "\u200b.", "\u0301", "\ufffd", "\U0001f600", "\ue000", "\u0661"])
def test_texts_of_which_something_can_be_seen(text: str) -> None:
    assert not is_blank(text)
