"""Colours and shapes of the comparison's charts."""

import re

import pytest

from entail.data.records import Premise
from entail.evaluation.retrieval.comparison import ComparedPremise
from entail.ui.shared.chart_marks import (
    ACCEPTED,
    DECISIONS,
    GROUPS,
    OTHER,
    REFERENCE,
    REJECTED,
    Mark,
    mark_of,
    scales,
    words_of,
)

PAGES = ("#ffffff", "#11161d")  # the themes of .streamlit/config.toml


def luminance(colour: str) -> float:
    parts = [int(part, 16) / 255 for part in re.findall("[0-9a-f]{2}", colour)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mark", [*DECISIONS, *GROUPS], ids=lambda mark: mark.name)
def test_every_colour_can_be_seen_on_both_pages(mark: Mark) -> None:
    for page in PAGES:
        assert contrast(mark.colour, page) >= 3


@pytest.mark.parametrize("marks", [DECISIONS, GROUPS])
def test_colour_is_never_alone(marks: tuple[object, ...]) -> None:
    for channel in ("name", "colour", "shape"):
        assert len({getattr(mark, channel) for mark in marks}) == len(marks)


def row(*, gold: bool | None, decision: bool | None) -> ComparedPremise:
    return ComparedPremise(Premise("a"), (1, 2), (0.0, 0.0), gold, decision)


@pytest.mark.parametrize(
    ("gold", "decision", "mark", "words"),
    [
        (None, None, OTHER, "Not judged"),
        (False, None, OTHER, "Not judged"),
        (True, None, REFERENCE, "in a reference tree"),
        (False, True, ACCEPTED, "accepted by an author"),
        (True, False, REJECTED, "in a reference tree, rejected by an author"),
    ],
)
def test_a_decision_is_drawn_and_both_are_told(
    gold: bool | None, decision: bool | None, mark: object, words: str
) -> None:
    found = row(gold=gold, decision=decision)
    assert mark_of(found) == mark
    assert words_of(found) == words


def test_rejected_lines_are_broken_and_the_others_whole() -> None:
    dashes = dict(
        zip(*(scales(DECISIONS)["strokeDash"].to_dict()[part] for part in ("domain", "range")), strict=True)
    )
    assert {name for name, dash in dashes.items() if dash != [1, 0]} == {REJECTED.name}
