"""Charts of Figures 2 and 3."""

from typing import Any

import numpy as np
import pytest

from entail.tuning.relevance import BINS, Relevance
from entail.ui.claims.relevance_chart import (
    draw_quartiles,
    draw_relevance,
    marks_of,
    relevance_summary,
    relevance_table,
)


@pytest.fixture
def data() -> dict[str, Any]:
    groups = {
        "entailing": np.array([0.55, 0.95, 0.95, 0.97]),
        "neutral": np.array([0.15, 0.55]),
        "irrelevant": np.array([-0.05, 0.02]),
    }
    return Relevance("similarity", "minilm", groups, (-1.0, 1.0)).to_json()


def test_tables_of_the_charts(data: dict[str, Any]) -> None:
    table = relevance_table(data)
    assert len(table) == 3 * BINS
    filled_rows = table[table["share"] > 0].to_dict("records")
    assert [(row["group"], row["from"], row["to"], row["share"]) for row in filled_rows] == [
        ("entailing", 0.5, 0.6, 0.25),
        ("entailing", 0.9, 1.0, 0.75),
        ("neutral", 0.1, 0.2, 0.5),
        ("neutral", 0.5, 0.6, 0.5),
        ("irrelevant", -0.1, 0.0, 0.5),
        ("irrelevant", 0.0, 0.1, 0.5),
    ]
    rows = relevance_summary(data).set_index("group")
    assert rows.loc["entailing", "mean"] == pytest.approx(0.855)
    assert rows.loc["neutral", "above"] == pytest.approx(7.5 / 8)
    assert rows.loc["neutral", "median"] == pytest.approx(0.35)


def test_the_histogram_shows_the_filled_bins(data: dict[str, Any]) -> None:
    chart: dict[str, Any] = draw_relevance(data).to_dict()
    area, line, bins = chart["layer"]
    assert area["encoding"]["x"]["scale"]["domain"] == [-0.1, 1.0]
    assert line["encoding"]["color"]["scale"]["domain"] == ["entailing", "neutral", "irrelevant"]
    rows = chart["datasets"][area["data"]["name"]]
    assert sum(row["share"] for row in rows if row["from"] < 1) == pytest.approx(3)
    ends = [row["share"] for row in rows if row["from"] == 1]
    assert ends == [0.75, 0, 0], "the last step ends where the next would begin"
    (bin_,) = [row for row in chart["datasets"][bins["data"]["name"]] if row["from"] == 0.5]
    assert (bin_["to"], bin_["share0"], bin_["share1"], bin_["share2"]) == (0.6, 0.25, 0.5, 0)
    assert [tip["title"] for tip in bins["encoding"]["tooltip"][2:]] == ["entailing", "neutral", "irrelevant"]


def test_quartiles_stand_below_the_same_values(data: dict[str, Any]) -> None:
    chart: dict[str, Any] = draw_quartiles(data).to_dict()
    rule, point = chart["layer"]
    assert [layer["mark"]["type"] for layer in (rule, point)] == ["rule", "point"]
    assert rule["encoding"]["x"]["scale"]["domain"] == [-0.1, 1.0]
    steps: dict[str, Any] = draw_relevance(data).to_dict()
    margins = {spec["layer"][0]["encoding"]["y"]["axis"]["minExtent"] for spec in (chart, steps)}
    assert len(margins) == 1


def test_groups_differ_by_more_than_colour() -> None:
    marks = marks_of(["a", "b", "c"])
    for part in ("colour", "shape", "dash"):
        assert len({getattr(mark, part) for mark in marks}) == 3
