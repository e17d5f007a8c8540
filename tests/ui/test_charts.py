"""Charts of the app as Vega receives them: titles, axes, marks and colours."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import entail
from entail.aeenc.bias import GROUPS as CODES
from entail.aeenc.bias import Panel
from entail.data.records import Premise
from entail.encoders.gaussian.distributions import Gaussians
from entail.evaluation.retrieval.comparison import ComparedPremise, Comparison
from entail.gausscse.projection import project
from entail.index.factory import LEXICAL
from entail.jobs.events import panels
from entail.ui.compare.bias import draw_bias
from entail.ui.compare.query import draw_slopes, height_of
from entail.ui.direction.views import draw_ellipses
from entail.ui.models.job import draw_panel
from entail.ui.shared.chart_marks import (
    ACCEPTED,
    DECISIONS,
    GROUPS,
    OTHER,
    REFERENCE,
    REJECTED,
    SERIES,
    Mark,
    decision_names,
    mark_of,
)
from entail.ui.shared.model_names import model_label, model_name
from tests.support.colours import contrast

PAGES = ("#ffffff", "#11161d")  # the themes of .streamlit/config.toml


def premise(text: str, ranks: tuple[int, int], gold: bool, decision: bool | None = None) -> ComparedPremise:
    return ComparedPremise(Premise(text), ranks, (0.0, 0.0), gold, decision)


ROWS = (premise("stayed", (1, 1), False), premise("moved far", (31, 2), True))


def ellipses() -> Any:
    draw = np.random.default_rng(0)
    return draw_ellipses(project(Gaussians(draw.normal(size=(2, 8)), draw.normal(size=(2, 8)))))


def training(*series: str) -> Any:
    terms = {"learning_rate": None, "terms": dict.fromkeys(series, 1.0)}
    return draw_panel(panels([{"kind": "step", "step": step, "epoch": 0, **terms} for step in (1, 2)])[0])


CHARTS: dict[str, Callable[[], Any]] = {
    "slopes": lambda: draw_slopes(Comparison("ice", ("minilm", "aeenc-minilm"), 20, ROWS)),
    "bias": lambda: draw_bias(
        Panel("b", "cosine", "minilm", None, dict.fromkeys(CODES, (0.1, 0.15, 0.2))), span=(0, 1)
    ),
    "ellipses": ellipses,
    "loss": lambda: training("loss", "triplet"),
    "memory": lambda: training("memory"),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_explains_its_axes_and_colours(name: str) -> None:
    chart: dict[str, Any] = CHARTS[name]().to_dict()
    assert chart["title"]
    legends: dict[str, list[Any]] = {}
    for encoding in (layer["encoding"] for layer in chart.get("layer", [chart])):
        for channel in ("x", "y"):
            field = encoding.get(channel, {})
            if field.get("type") == "quantitative":
                assert field.get("title") or field.get("axis", {}).get("title"), (channel, field)
        for channel in ("color", "strokeDash", "shape"):
            if "scale" in encoding.get(channel, {}):
                legends.setdefault(encoding[channel]["field"], []).append(encoding[channel]["legend"])
        if (colour := encoding.get("color")) is None:
            continue
        assert set(colour["scale"]["range"]) <= {*SERIES}
        # A legend, or the values themselves along an axis, or one series named by the title.
        labelled = any(encoding.get(axis, {}).get("field") == colour["field"] for axis in ("x", "y"))
        assert colour.get("legend") or labelled or len(colour["scale"]["domain"]) == 1
    # Vega merges the legends of channels with one field, and warns where they differ.
    assert all(legend == group[0] for group in legends.values() for legend in group)


def test_every_shipped_model_has_a_name_of_its_own() -> None:
    packaged = Path(entail.__file__).parent.parent / "models"
    shipped = {"minilm", *LEXICAL, *(folder.name for folder in packaged.iterdir() if folder.is_dir())}
    assert len({model_name(name) for name in (*shipped, "minilm+bm25")}) == len(shipped) + 1
    assert not {name for name in shipped if model_label(name) == name}


@pytest.mark.parametrize("marks", [DECISIONS, GROUPS])
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
    row = premise("a", (1, 2), gold, decision)
    assert (mark_of(row), decision_names(row)) == (mark, words)


def test_a_line_goes_from_rank_to_rank_and_known_ones_stand_out_on_top() -> None:
    chart = CHARTS["slopes"]().to_dict()
    (rows,) = (table for table in chart["datasets"].values() if "premise" in table[0])
    assert [row["premise"] for row in rows] == ["stayed", "moved far"]
    assert [(row["y1"], row["y2"]) for row in rows] == [(1, 1), (height_of(31, 20), 2)]
    assert rows[1]["width"] > rows[0]["width"]
    assert rows[1]["size"] > rows[0]["size"]


@pytest.mark.parametrize("k", [1, 20, 100])
def test_a_better_rank_is_never_lower(k: int) -> None:
    heights = [height_of(rank, k) for rank in (*range(1, 3 * k), 10**3, 10**4, 10**5)]
    assert all(a < b for a, b in pairwise(heights))
