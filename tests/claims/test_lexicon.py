"""The lexicon of claims: verb forms against lemminflect, look-ups, classes of words."""

from collections.abc import Callable
from types import ModuleType

import pytest

from entail.claims import lexicon


@pytest.fixture(scope="module")
def builder(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("build_lexicon")


def test_the_verb_list_is_what_lemminflect_generates(builder: ModuleType) -> None:
    text = builder.LEXICON.read_text(encoding="utf-8")
    assert builder.build(text) == text


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
