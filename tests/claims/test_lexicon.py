"""The lexicon of claims: verb forms, look-ups, classes of words."""

import pytest

from entail.claims import lexicon


@pytest.mark.parametrize(
    ("base", "past"),
    [
        ("embed", "embedded"),
        ("babysit", "babysat"),
        ("panic", "panicked"),
        ("win", "won"),
        ("carry", "carried"),
    ],
)
def test_pasts_are_spelled_right(base: str, past: str) -> None:
    assert lexicon.inflect(base, "past") == past
    assert lexicon.base_form(past, "past") == base
