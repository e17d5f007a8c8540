"""Charts of the Compare page as Vega receives them: marks and slopes."""

import re
from itertools import pairwise
from typing import Any

import pytest

from entail.data.records import Corpus, Premise
from entail.evaluation.retrieval.comparison import ComparedPremise, compare
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.ui.compare.slopes import Slope, draw_slopes, height_of, slopes_of
from entail.ui.shared.chart_marks import (
    ACCEPTED,
    BLUE,
    DECISIONS,
    GREEN,
    GROUPS,
    OTHER,
    REFERENCE,
    REJECTED,
    Mark,
    mark_of,
    words_of,
)
from entail.ui.shared.model_names import RETRIEVERS, retriever_marks

PAGES = ("#ffffff", "#11161d")  # the themes of .streamlit/config.toml


def luminance(colour: str) -> float:
    parts = [int(part, 16) / 255 for part in re.findall("[0-9a-f]{2}", colour)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("marks", [DECISIONS, GROUPS, retriever_marks(tuple(RETRIEVERS))])
def test_marks_differ_by_colour_and_shape_and_are_visible_on_both_themes(marks: tuple[Mark, ...]) -> None:
    assert all(contrast(mark.colour, page) >= 3 for mark in marks for page in PAGES)
    for channel in ("name", "colour", "shape"):
        assert len({getattr(mark, channel) for mark in marks}) == len(marks)


@pytest.mark.parametrize(
    ("gold", "decision", "mark", "words"),
    [
        (False, None, OTHER, "Not judged"),
        (True, None, REFERENCE, "in a reference tree"),
        (False, True, ACCEPTED, "accepted by an author"),
        (True, False, REJECTED, "in a reference tree, rejected by an author"),
    ],
)
def test_a_decision_takes_precedence_over_a_reference_tree(
    gold: bool, decision: bool | None, mark: Mark, words: str
) -> None:
    row = ComparedPremise(Premise("a"), (1, 2), (0.0, 0.0), gold, decision)
    assert (mark_of(row), words_of(row)) == (mark, words)


SIDES = Mark("Words", BLUE, "circle"), Mark("Meaning", GREEN, "square")
LINES = [
    Slope("moved far", (31, 2), REFERENCE, "in a reference tree"),
    Slope("stayed", (1, 1), OTHER, "Not judged"),
]


def drawn(lines: list[Slope], *, k: int = 20) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the chart and its rows."""
    chart: dict[str, Any] = draw_slopes(lines, SIDES, k=k).to_dict()
    (rows,) = (table for table in chart["datasets"].values() if "premise" in table[0])
    return chart, list(rows)


def test_a_line_goes_from_rank_to_rank_and_known_ones_stand_out_on_top() -> None:
    chart, rows = drawn(LINES)
    assert [row["premise"] for row in rows] == ["stayed", "moved far"]
    assert [(row["y1"], row["y2"]) for row in rows] == [(1, 1), (height_of(31, 20), 2)]
    assert rows[1]["width"] > rows[0]["width"]
    assert rows[1]["size"] > rows[0]["size"]
    encodings = [layer["encoding"] for layer in chart["layer"]]
    assert {"color", "shape", "strokeDash"} <= {channel for encoding in encodings for channel in encoding}
    tips = [encoding["tooltip"] for encoding in encodings if "tooltip" in encoding]
    assert tips
    for tip in tips:
        assert {"premise", "rank1", "rank2", "decisions"} <= {field["field"] for field in tip}


def test_premises_at_one_rank_share_a_label() -> None:
    lines = [
        Slope("one", (1, 4), REFERENCE, "", "parent a"),
        Slope("two", (2, 4), REFERENCE, "", "parent b"),
    ]
    table = {row["premise"]: row for row in drawn(lines)[1]}
    assert sorted((table["one"]["label2"], table["two"]["label2"])) == ["", "two · one"]
    assert (table["one"]["label1"], table["two"]["label1"]) == ("one", "two")
    assert {row["parent"] for row in table.values()} == {"parent a", "parent b"}


@pytest.mark.parametrize("k", [1, 20, 100])
def test_a_better_rank_is_never_lower(k: int) -> None:
    heights = [height_of(rank, k) for rank in (*range(1, 3 * k), 10**3, 10**4, 10**5)]
    assert all(a < b for a, b in pairwise(heights))


def test_ranks_of_a_comparison_are_drawn() -> None:
    corpus = Corpus.of("two", ["ice is cold", "fire is hot"])
    lines = slopes_of(compare("ice", corpus, (TfidfIndex(corpus), Bm25Index(corpus)), k=5))
    assert len(lines) == 2
    assert drawn(lines, k=2)[0]["layer"]
