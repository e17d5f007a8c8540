"""Figures 2 and 3 as charts."""

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
def told() -> dict[str, Any]:
    groups = {
        "entailing": np.array([0.55, 0.95, 0.95, 0.97]),
        "neutral": np.array([0.15, 0.55]),
        "irrelevant": np.array([-0.05, 0.02]),
    }
    return Relevance("similarity", "minilm", groups, (-1.0, 1.0)).to_json()


def test_every_bin_has_its_share_by_hand(told: dict[str, Any]) -> None:
    table = relevance_table(told)
    assert len(table) == 3 * BINS
    found = table[table["share"] > 0].to_dict("records")
    rows = [(row["group"], row["from"], row["to"], row["share"]) for row in found]
    assert rows == [
        ("entailing", 0.5, 0.6, 0.25),
        ("entailing", 0.9, 1.0, 0.75),
        ("neutral", 0.1, 0.2, 0.5),
        ("neutral", 0.5, 0.6, 0.5),
        ("irrelevant", -0.1, 0.0, 0.5),
        ("irrelevant", 0.0, 0.1, 0.5),
    ]
    assert table.groupby("group")["share"].sum().tolist() == pytest.approx([1, 1, 1])


def test_groups_are_summed_up(told: dict[str, Any]) -> None:
    rows = relevance_summary(told).set_index("group")
    assert rows.loc["entailing", "mean"] == pytest.approx(0.855)
    assert rows.loc["neutral", "above"] == pytest.approx(7.5 / 8)
    assert rows.loc["irrelevant", "above"] == 1
    assert rows.loc["neutral", "median"] == pytest.approx(0.35)


def test_the_chart_shows_what_is_filled_and_no_more(told: dict[str, Any]) -> None:
    chart: dict[str, Any] = draw_relevance(told).to_dict()
    area, line, bins = chart["layer"]
    assert area["encoding"]["x"]["scale"]["domain"] == [-0.1, 1.0]
    assert chart["title"] == "similarity, by minilm"
    assert line["encoding"]["color"]["scale"]["domain"] == ["entailing", "neutral", "irrelevant"]
    drawn = chart["datasets"][area["data"]["name"]]
    assert len(drawn) == 3 * 11 + 3
    assert sum(row["share"] for row in drawn if row["from"] < 1) == pytest.approx(3)
    # The last bin is drawn as wide as the others: its step ends where the next would begin.
    assert [row["share"] for row in drawn if row["from"] == 1] == [0.75, 0, 0]
    (bin_,) = [row for row in chart["datasets"][bins["data"]["name"]] if row["from"] == 0.5]
    assert (bin_["to"], bin_["share0"], bin_["share1"], bin_["share2"]) == (0.6, 0.25, 0.5, 0)
    assert [tip["title"] for tip in bins["encoding"]["tooltip"][2:]] == ["entailing", "neutral", "irrelevant"]


def test_means_stand_below_the_steps_at_the_same_places(told: dict[str, Any]) -> None:
    chart: dict[str, Any] = draw_quartiles(told).to_dict()
    two = {name: told["groups"][name] for name in ("entailing", "neutral")}
    rule, point = chart["layer"]
    assert [layer["mark"]["type"] for layer in (rule, point)] == ["rule", "point"]
    assert rule["encoding"]["x"]["scale"]["domain"] == [-0.1, 1.0]
    steps: dict[str, Any] = draw_relevance(told).to_dict()
    margins = [one["layer"][0]["encoding"]["y"]["axis"]["minExtent"] for one in (chart, steps)]
    assert margins[0] == margins[1]
    assert chart["height"] - draw_quartiles({**told, "groups": two}).to_dict()["height"] > 30, (
        "each name has a place of its own above its line"
    )


def test_no_two_groups_are_told_by_colour_alone() -> None:
    marks = marks_of(["a", "b", "c"])
    assert len({mark.colour for mark in marks}) == len({mark.shape for mark in marks}) == 3
    assert len({mark.dash for mark in marks}) == 3
