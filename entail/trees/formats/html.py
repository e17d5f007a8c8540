"""Trees as self-contained HTML pages that work offline."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.trees.formats.network import to_network, vis_script
from entail.trees.formats.text import outline, printable
from entail.trees.layout.appearance import (
    BORDER_WIDTH,
    CORNER,
    DARK,
    DASHES,
    FONT_SIZE,
    FONTS,
    INNER_LINE,
    KINDS,
    LIGHT,
    NAMES,
    PADDING_X,
    PADDING_Y,
    SHAPES,
    Theme,
)
from entail.trees.layout.drawing import Direction
from entail.trees.layout.lines import COLUMN, columns_of
from entail.trees.layout.positions import choose_direction, layout
from entail.trees.log.tree import Tree

if TYPE_CHECKING:
    import jinja2

_OPTIONS = {
    "physics": {"enabled": False},
    "interaction": {
        "dragNodes": False,
        "hover": False,
        "keyboard": {"enabled": True, "bindToWindow": False},
    },
    "edges": {
        "arrows": {"to": {"scaleFactor": 0.6}},
        "arrowStrikethrough": False,
        "color": {"inherit": "from"},
        "smooth": False,
        "width": 1.5,
    },
}
"""Options of vis-network."""

_SAMPLE = "at night a side of the moon is turned away from the sun"
SMALLEST = 11
"""Pixels of the letters below which the page begins at the hypothesis, instead of showing the whole tree."""


def to_html(
    tree: Tree, *, with_rejected: bool = True, direction: Direction | None = None, note: str = ""
) -> str:
    """Return a page with a tree as a graph to move and zoom, a legend, and below it the tree as an outline.

    The graph is pyvis's `Network` in the places of `layout`, drawn by the script that pyvis ships, which is
    in the page; the page's content security policy lets nothing be fetched. It follows the reader's light or
    dark theme. Texts are text whatever they hold.

    Args:
        tree: The tree.
        with_rejected: Whether the page can show rejected premises, by a switch that is off at first.
        direction: Where premises stand; by default as `choose_direction` says.
        note: Sentence below the title.
    """
    with_rejected = with_rejected and any(not judgement.accepted for judgement in tree.judgements.values())
    direction = direction or choose_direction(tree)
    drawings = [_drawing(tree, direction, with_rejected=False)]
    if with_rejected:
        drawings.append(_drawing(tree, direction, with_rejected=True))
    groups = {node["group"] for node in drawings[-1]["nodes"]}
    return _template().render(
        title=printable(tree.root.text),
        note=note,
        fonts=FONTS,
        border=BORDER_WIDTH,
        light=LIGHT,
        dark=DARK,
        kinds=[kind for kind in KINDS if kind in groups],
        names=NAMES,
        shapes=SHAPES,
        lines=outline(tree, with_rejected=with_rejected),
        vis_script=vis_script(),
        drawings=drawings,
        themes={"light": _groups(LIGHT), "dark": _groups(DARK)},
        options=_OPTIONS,
        direction=direction,
        smallest=SMALLEST / FONT_SIZE,
        sample={"text": _SAMPLE, "width": columns_of(_SAMPLE) * COLUMN, "size": FONT_SIZE},
    )


@cache
def _template() -> jinja2.Template:
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, keep_trailing_newline=True)
    environment.filters["printable"] = printable
    return environment.from_string((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))


def _drawing(tree: Tree, direction: Direction, *, with_rejected: bool) -> dict[str, Any]:
    """Return nodes and edges as vis-network takes them."""
    network = to_network(layout(tree, with_rejected=with_rejected, direction=direction))
    return {"nodes": network.nodes, "edges": network.edges}


def _groups(theme: Theme) -> dict[str, Any]:
    """Return the groups of a theme as vis-network takes them; lines have the colour of their points."""
    groups: dict[str, Any] = {}
    for kind in KINDS:
        look, shape = theme.looks[kind], SHAPES[kind]
        inner = INNER_LINE if shape == "double" else 0
        colours = {"background": look.fill, "border": look.border}
        groups[kind] = {
            "color": {**colours, "highlight": colours, "hover": colours},
            "font": {"color": look.text, "size": FONT_SIZE, "face": FONTS, "align": "left"},
            "borderWidth": BORDER_WIDTH + inner / 2,
            "borderWidthSelected": 2 * BORDER_WIDTH + inner,
            "margin": dict.fromkeys(("left", "right"), PADDING_X)
            | dict.fromkeys(("top", "bottom"), PADDING_Y + inner),
            "shapeProperties": {
                "borderRadius": CORNER if shape == "rounded" else 2,
                "borderDashes": list(DASHES) if shape == "dashed" else False,
            },
        }
    for name, colour in (("step", theme.edge), ("rejected-step", theme.looks["rejected"].border)):
        groups[name] = {"color": {"background": colour, "border": colour}, "chosen": False}
    return groups
