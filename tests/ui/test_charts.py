"""Titles, axes and colours of every chart of the app, as Vega receives them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import entail
from entail.aeenc.bias import GROUPS as CODES
from entail.aeenc.bias import Panel
from entail.encoders.gaussian.distributions import Gaussians
from entail.gausscse.projection import project
from entail.index.factory import LEXICAL
from entail.jobs.events import panels
from entail.ui.compare.bias import draw_bias
from entail.ui.compare.slopes import Slope, draw_slopes
from entail.ui.direction.pair import draw_ellipses
from entail.ui.models.job import draw_panel
from entail.ui.shared.chart_marks import ACCEPTED, AMBER, OTHER, SERIES, SKY, VIOLET
from entail.ui.shared.model_names import RETRIEVERS, model_label, model_name, retriever_marks

PALETTE = {*SERIES, SKY, AMBER, VIOLET}
SIDES = retriever_marks(["minilm", "aeenc-minilm"])


def gaussians() -> Gaussians:
    draw = np.random.default_rng(0)
    return Gaussians(draw.normal(size=(2, 8)), draw.normal(size=(2, 8)))


def panel_of_bias() -> Panel:
    return Panel("b", "cosine", "minilm", None, dict.fromkeys(CODES, (0.1, 0.15, 0.2)))


def training(*series: str) -> Any:
    terms = {"learning_rate": None, "terms": dict.fromkeys(series, 1.0)}
    return draw_panel(panels([{"kind": "step", "step": step, "epoch": 0, **terms} for step in (1, 2)])[0])


LINES = [Slope("ice is cold", (1, 30), ACCEPTED, ""), Slope("fire is hot", (2, 1), OTHER, "")]
CHARTS: dict[str, Callable[[], Any]] = {
    "slopes": lambda: draw_slopes(LINES, (SIDES[0], SIDES[1]), k=20),
    "bias": lambda: draw_bias(panel_of_bias()),
    "ellipses": lambda: draw_ellipses(project(gaussians())),
    "loss": lambda: training("loss", "triplet"),
    "memory": lambda: training("memory"),
}


def encodings(view: dict[str, Any]) -> list[dict[str, Any]]:
    return [layer["encoding"] for layer in view.get("layer", [view])]


@pytest.fixture(params=CHARTS)
def chart(request: pytest.FixtureRequest) -> dict[str, Any]:
    spec: dict[str, Any] = CHARTS[request.param]().to_dict()
    return spec


def test_a_chart_has_a_title_and_its_axes_of_numbers_have_one_each(chart: dict[str, Any]) -> None:
    assert chart["title"]
    for encoding in encodings(chart):
        for channel in ("x", "y"):
            field = encoding.get(channel, {})
            if field.get("type") == "quantitative":
                assert field.get("title") or field.get("axis", {}).get("title"), (channel, field)


def test_colours_are_of_the_palette_and_explained(chart: dict[str, Any]) -> None:
    for encoding in encodings(chart):
        if (colour := encoding.get("color")) is None:
            continue
        assert set(colour["scale"]["range"]) <= PALETTE
        # A legend, or the values themselves along an axis, or one series named by the title.
        labelled = any(encoding.get(axis, {}).get("field") == colour["field"] for axis in ("x", "y"))
        assert colour.get("legend") or labelled or len(colour["scale"]["domain"]) == 1


def test_legends_of_one_field_agree(chart: dict[str, Any]) -> None:
    """Vega merges the legends of channels with one field, and warns where they differ."""
    legends: dict[str, list[Any]] = {}
    for encoding in encodings(chart):
        for channel in ("color", "strokeDash", "shape"):
            if "scale" in encoding.get(channel, {}):
                legends.setdefault(encoding[channel]["field"], []).append(encoding[channel]["legend"])
    assert all(legend == group[0] for group in legends.values() for legend in group)


def test_a_retriever_has_one_mark_wherever_it_is_drawn() -> None:
    alone, pair = retriever_marks(["bm25"]), retriever_marks(["aeenc-minilm", "bm25"])
    assert alone[0] == pair[1]
    plain, hybrid = retriever_marks(["minilm", "minilm+bm25"])
    assert plain.colour == hybrid.colour
    assert plain.dash != hybrid.dash


def test_every_shipped_model_has_a_name_of_its_own() -> None:
    packaged = Path(entail.__file__).parent.parent / "models"
    shipped = {"minilm", *LEXICAL, *(folder.name for folder in packaged.iterdir() if folder.is_dir())}
    assert len({model_name(name) for name in (*shipped, "minilm+bm25")}) == len(shipped) + 1
    assert not {name for name in shipped if model_label(name) == name}


@pytest.mark.parametrize("names", [tuple(RETRIEVERS), ("minilm", "my-encoder", "another", "bm25")])
def test_retrievers_of_one_chart_differ_by_colour_and_shape(names: tuple[str, ...]) -> None:
    marks = retriever_marks(names)
    assert len({mark.colour for mark in marks}) == len({mark.shape for mark in marks}) == len(names)
    assert {mark.colour for mark in marks} <= PALETTE
