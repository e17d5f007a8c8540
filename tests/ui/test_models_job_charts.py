"""Charts of a training."""

from typing import Any

import pytest

from entail.ui.models.job_charts import COLOURS, DASHES, describe, draw_panel, panels


def rows(series: str, values: list[float], kind: str = "term") -> list[dict[str, Any]]:
    return [
        {"step": step, "epoch": 0, "kind": kind, "series": series, "value": value}
        for step, value in enumerate(values, start=1)
    ]


TOLD = [
    *rows("loss", [3.0, 2.0]),
    *rows("triplet", [2.5, 1.5]),
    *rows("active", [0.9, 0.4]),
    *rows("variance", [0.02, 0.03]),
    *rows("learning rate", [0.1, 0.2], "step"),
    *rows("GPU memory", [100.0, 120.0], "step"),
    *rows("steps a second", [5.0, 6.0], "step"),
    *rows("dev", [0.4, 0.5], "evaluation"),
    *rows("query_excluded.MAP", [0.4, 0.5], "evaluation"),
    *rows("paper.MAP", [0.3, 0.4], "evaluation"),
]


def test_each_thing_has_its_chart_and_terms_of_the_loss_share_one() -> None:
    assert [(panel.title, panel.series) for panel in panels(TOLD)] == [
        ("Loss and its terms", ("loss", "triplet")),
        ("Dev figures, query excluded", ("MAP",)),
        ("Dev figures, paper", ("MAP",)),
        ("Learning rate", ("learning rate",)),
        ("Active triplets (share)", ("active",)),
        ("Variance of embeddings", ("variance",)),
        ("GPU memory (MiB)", ("GPU memory",)),
        ("Steps per second", ("steps a second",)),
    ]
    assert panels([]) == []


def test_what_it_chooses_by_is_drawn_where_no_figure_is_the_same() -> None:
    told = [*rows("dev", [0.4, 0.6], "evaluation"), *rows("MAP", [0.4, 0.5], "evaluation")]
    assert [panel.series for panel in panels(told)] == [("dev", "MAP")]


@pytest.mark.parametrize("panel", panels(TOLD), ids=lambda panel: panel.title)
def test_a_chart_holds_its_points(panel: Any) -> None:
    drawn = draw_panel(panel).to_dict()
    (data,) = drawn["datasets"].values()
    assert [row["value"] for row in data] == [row["value"] for row in panel.points]
    assert drawn["encoding"]["color"]["scale"]["domain"] == list(panel.series)
    assert (drawn["encoding"]["color"]["legend"] is None) == (len(panel.series) == 1)
    # A series is known by its dashes, too.
    assert drawn["encoding"]["strokeDash"]["scale"]["range"] == list(DASHES[: len(panel.series)])


def test_more_series_than_colours_are_drawn_all_the_same() -> None:
    told = [row for number in range(len(COLOURS) + 2) for row in rows(f"term {number}", [1.0, 2.0])]
    (panel,) = panels(told)
    assert len(draw_panel(panel).to_dict()["encoding"]["color"]["scale"]["range"]) == len(COLOURS) + 2


def test_in_words_for_who_cannot_see_it() -> None:
    assert describe(panels(TOLD)[0]).endswith("loss 2, triplet 1.5")
