"""The slopes as what Vega is told to draw."""

from itertools import pairwise
from typing import Any

import pytest

from entail.data.records import Corpus
from entail.evaluation.retrieval.comparison import compare
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.ui.compare.slopes import Slope, draw_slopes, height_of, slopes_of
from entail.ui.shared.chart_marks import OTHER, REFERENCE

LINES = [
    Slope("moved far", (31, 2), REFERENCE, "in a reference tree"),
    Slope("stayed", (1, 1), OTHER, "Not judged"),
]


def drawn(lines: list[Slope], *, k: int = 20) -> dict[str, Any]:
    told: dict[str, Any] = draw_slopes(lines, ("Words", "Meaning"), k=k).to_dict()
    return told


def rows(told: dict[str, Any]) -> list[dict[str, Any]]:
    (found,) = (table for table in told["datasets"].values() if "premise" in table[0])
    return list(found)


def test_a_line_goes_from_rank_to_rank() -> None:
    table = {row["premise"]: row for row in rows(drawn(LINES))}
    assert (table["moved far"]["y1"], table["moved far"]["y2"]) == (height_of(31, 20), 2)
    assert (table["stayed"]["y1"], table["stayed"]["y2"]) == (1, 1)


def test_the_most_different_lies_on_top_and_what_is_known_stands_out() -> None:
    table = rows(drawn(LINES))
    assert [row["premise"] for row in table] == ["stayed", "moved far"]
    assert table[1]["width"] > table[0]["width"]
    assert table[1]["size"] > table[0]["size"]


def test_the_whole_text_is_shown_under_the_pointer() -> None:
    tips = [layer["encoding"]["tooltip"] for layer in drawn(LINES)["layer"] if "tooltip" in layer["encoding"]]
    assert tips
    assert all(
        {"premise", "rank1", "rank2", "known"} <= {tip["field"] for tip in tip_list} for tip_list in tips
    )


def test_marks_differ_by_shape_and_dash_too() -> None:
    channels = {channel for layer in drawn(LINES)["layer"] for channel in layer["encoding"]}
    assert {"color", "shape", "strokeDash"} <= channels


def test_premises_at_one_place_share_a_line_of_text() -> None:
    lines = [
        Slope("one", (1, 4), REFERENCE, "", "parent a"),
        Slope("two", (2, 4), REFERENCE, "", "parent b"),
    ]
    table = {row["premise"]: row for row in rows(drawn(lines))}
    assert sorted((table["one"]["label2"], table["two"]["label2"])) == ["", "two · one"]
    assert (table["one"]["label1"], table["two"]["label1"]) == ("one", "two")
    assert {row["parent"] for row in table.values()} == {"parent a", "parent b"}


@pytest.mark.parametrize("k", [1, 10, 20, 50, 100])
def test_a_better_rank_never_stands_lower(k: int) -> None:
    heights = [height_of(rank, k) for rank in (*range(1, 3 * k), 10**3, 10**4, 10**5)]
    assert all(a < b for a, b in pairwise(heights))


def test_no_line_at_all_still_draws() -> None:
    corpus = Corpus.of("two", ["ice is cold", "fire is hot"])
    comparison = compare("ice", corpus, (TfidfIndex(corpus), Bm25Index(corpus)), k=5)
    assert len(slopes_of(comparison)) == 2
    assert drawn(slopes_of(comparison), k=2)["layer"]
