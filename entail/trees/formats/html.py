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
    KINDS,
    LIGHT,
    NAMES,
    PADDING,
    SHAPES,
    Theme,
)
from entail.trees.layout.positions import Place, layout
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
        "arrows": {"to": {"enabled": True, "scaleFactor": 0.6}},
        "smooth": {"type": "cubicBezier", "forceDirection": "vertical", "roundness": 0.4},
        "width": 1.5,
    },
}
"""Options of vis-network."""


def to_html(tree: Tree, *, with_rejected: bool = True) -> str:
    """Return a page with a tree as a graph to move and zoom, a legend, and below it the tree as an outline.

    The graph is pyvis's `Network` in the places of `layout`, drawn by the script that pyvis ships, which is
    in the page; the page's content security policy lets nothing be fetched. It follows the reader's light or
    dark theme. Texts are text whatever they hold.

    Args:
        tree: The tree.
        with_rejected: Whether the page can show rejected premises, by a switch that is off at first.
    """
    with_rejected = with_rejected and any(not judgement.accepted for judgement in tree.judgements.values())
    drawings = [_drawing(tree, with_rejected=False)]
    if with_rejected:
        drawings.append(_drawing(tree, with_rejected=True))
    drawn = {node["group"] for node in drawings[-1]["nodes"]}
    return _template().render(
        title=printable(tree.root.text),
        fonts=FONTS,
        border=BORDER_WIDTH,
        light=LIGHT,
        dark=DARK,
        kinds=[kind for kind in KINDS if kind in drawn],
        names=NAMES,
        shapes=SHAPES,
        lines=outline(tree, with_rejected=with_rejected),
        vis_script=vis_script(),
        drawings=drawings,
        themes={"light": _groups(LIGHT), "dark": _groups(DARK)},
        options=_OPTIONS,
    )


@cache
def _template() -> jinja2.Template:
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, keep_trailing_newline=True)
    environment.filters["printable"] = printable
    return environment.from_string((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))


def _drawing(tree: Tree, *, with_rejected: bool) -> dict[str, Any]:
    """Return nodes and edges as vis-network takes them."""
    network = to_network(layout(tree, with_rejected=with_rejected), _size)
    return {"nodes": network.nodes, "edges": network.edges}


def _size(_id: str, place: Place) -> dict[str, Any]:
    # vis-network makes an ellipse twice as high as the room that it is given, as `layout` expects.
    size = {} if SHAPES[place.kind] == "ellipse" else {"width": place.width, "height": place.height}
    return {f"{side}Constraint": {"minimum": round(pixels - 2 * PADDING)} for side, pixels in size.items()}


def _groups(theme: Theme) -> dict[str, Any]:
    """Return the looks of a theme as vis-network takes them."""
    groups: dict[str, Any] = {}
    for kind in KINDS:
        look, shape = theme.looks[kind], SHAPES[kind]
        colours = {"background": look.fill, "border": look.border}
        groups[kind] = {
            "color": {**colours, "highlight": colours, "hover": colours},
            "font": {"color": look.text, "size": FONT_SIZE, "face": FONTS},
            "borderWidth": BORDER_WIDTH,
            "borderWidthSelected": 2 * BORDER_WIDTH,
            "margin": PADDING,
            "shapeProperties": {
                "borderRadius": CORNER if shape == "rounded" else 0,
                "borderDashes": list(DASHES) if shape == "dashed" else False,
            },
        }
    edge = dict.fromkeys(("color", "highlight", "hover"), theme.edge)
    return {"groups": groups, "edges": {"color": edge}}
