"""Trees as pyvis's `Network`, how vis-network draws it, and self-contained HTML pages that work offline."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.trees.formats.text import outline, printable, reviews, template
from entail.trees.layout import appearance
from entail.trees.layout.appearance import (
    BORDER_WIDTH,
    DARK,
    FONT_SIZE,
    INNER_LINE,
    KINDS,
    LIGHT,
    PADDING_X,
    PADDING_Y,
    SHAPES,
)
from entail.trees.layout.drawing import COLUMN, Direction, Layout, columns_of
from entail.trees.layout.positions import choose_direction, layout
from entail.trees.log.tree import Tree

if TYPE_CHECKING:
    from pyvis.network import Network

SMALLEST = 9
"""Pixels of letters below which a view begins at the hypothesis, instead of showing the whole tree."""

OPTIONS: Mapping[str, Any] = {
    "physics": {"enabled": False},
    "layout": {"improvedLayout": False},  # the places are given
    "interaction": {"dragNodes": False, "selectConnectedEdges": False},
    "nodes": {"labelHighlightBold": False},
    "edges": {
        "arrows": {"to": {"scaleFactor": 0.5}},
        "arrowStrikethrough": False,
        "chosen": False,
        "color": {"inherit": "from"},
        "smooth": False,
        "width": 1.5,
    },
}
"""Options of vis-network."""

_SAMPLE = "at night a side of the moon is turned away from the sun"
SAMPLE = {"text": _SAMPLE, "width": columns_of(_SAMPLE) * COLUMN, "size": FONT_SIZE}
"""A text, its width by `layout`, and the size of its letters: a wider font needs smaller ones."""

_VIS = "lib/vis-9.1.2/vis-network.min.js"


def to_network(drawing: Layout) -> Network:
    """Return a drawing as a network of boxes in their places, in groups by kind.

    The lines of a step meet in points, nodes of the groups `step` and `rejected-step` without a size. A line
    to a premise ends in its box, and follows it where the box is moved.
    """
    from pyvis.network import Network

    network = Network(directed=True)
    ends: dict[tuple[float, float], str] = {}
    for id, box in drawing.boxes.items():
        ends[box.left, box.y] = ends[box.x, box.top] = id
        inner = INNER_LINE if SHAPES[box.kind] == "double" else 0
        network.add_node(
            id,
            label="\n".join(map(printable, box.lines)) or " ",
            title=printable(box.text),
            shape="box",
            group=box.kind,
            x=round(box.x),
            y=round(box.y),
            widthConstraint={"minimum": round(box.width - 2 * PADDING_X - BORDER_WIDTH)},
            heightConstraint={"minimum": round(box.height - 2 * (PADDING_Y + inner) - BORDER_WIDTH)},
        )
    for step in drawing.steps:
        group = "rejected-step" if step.rejected else "step"
        for line in step.lines:
            points = []
            for x, y in line:
                points.append(ends.get((x, y)) or f"{step.parent}@{group}@{x:.1f},{y:.1f}")
                network.add_node(points[-1], label=" ", size=0, group=group, x=round(x), y=round(y))
            arrow = "to" if line is step.stem and not step.rejected else ""
            dotted = {"dashes": list(appearance.DOTS)} if step.rejected else {}
            network.add_edge(*points, arrows=arrow, **dotted)
    return network


def groups_of(theme: appearance.Theme) -> dict[str, Any]:
    """Return the groups of a theme as vis-network takes them; lines have the colour of their points."""
    groups: dict[str, Any] = {}
    for kind in KINDS:
        look, shape = theme.looks[kind], SHAPES[kind]
        inner = INNER_LINE if shape == "double" else 0
        colours = {"background": look.fill, "border": look.border}
        bold = {"strokeWidth": 0.5, "strokeColor": look.text} if kind == "hypothesis" else {}
        groups[kind] = {
            "color": {**colours, "highlight": colours, "hover": colours},
            "font": {"color": look.text, "align": "left", **bold},
            "borderWidth": BORDER_WIDTH + inner / 2,
            "borderWidthSelected": BORDER_WIDTH + inner / 2,
            "margin": dict.fromkeys(("left", "right"), PADDING_X)
            | dict.fromkeys(("top", "bottom"), PADDING_Y + inner),
            "shapeProperties": {
                "borderRadius": appearance.CORNER if shape == "rounded" else 3,
                "borderDashes": list(appearance.DASHES) if shape == "dashed" else False,
            },
        }
    for name, colour in (("step", theme.edge), ("rejected-step", theme.looks["rejected"].border)):
        colours = {"background": colour, "border": colour}
        groups[name] = {"color": colours, "chosen": False, "fixed": {"x": True, "y": True}}
    return groups


@cache
def vis_script() -> str:
    """Return the script that pyvis ships, without a source map to fetch."""
    import pyvis

    script = (Path(pyvis.__file__).parent / _VIS).read_text(encoding="utf-8")
    return script.partition("//# sourceMappingURL")[0]


def to_html(
    tree: Tree, *, with_rejected: bool = True, direction: Direction | None = None, note: str = ""
) -> str:
    """Return a page with a tree as a graph to move and zoom, a legend, and below it the tree as an outline.

    The graph is pyvis's `Network` in the places of `layout`, drawn by the script that pyvis ships, which is
    in the page; the page's content security policy lets nothing be fetched. It follows the reader's light or
    dark theme. Texts are text whatever they hold.

    With `with_rejected`, a switch, off at first, shows rejected premises. The `note` and the review stand
    below the title.
    """
    with_rejected = with_rejected and any(not judgement.accepted for judgement in tree.judgements.values())
    direction = direction or choose_direction(tree)
    drawings = []
    for rejected in (False, True) if with_rejected else (False,):
        network = to_network(layout(tree, with_rejected=rejected, direction=direction))
        drawings.append({"nodes": network.nodes, "edges": network.edges})
    groups = {node["group"] for node in drawings[-1]["nodes"]}
    return template("page.html").render(
        title=printable(tree.root.text),
        note=printable("; ".join(filter(None, [note, *reviews(tree)]))),
        kinds=[kind for kind in KINDS if kind in groups],
        lines=outline(tree, with_rejected=with_rejected),
        vis_script=vis_script().replace("</script", "<\\/script"),
        drawings=drawings,
        themes={"light": groups_of(LIGHT), "dark": groups_of(DARK)},
        options={**OPTIONS, "interaction": {**OPTIONS["interaction"], "keyboard": {"bindToWindow": False}}},
        direction=direction,
        smallest=SMALLEST / FONT_SIZE,
        sample=SAMPLE,
    )
