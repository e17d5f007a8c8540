"""Trees as standalone SVG pictures."""

from __future__ import annotations

from itertools import accumulate

from entail.trees.formats.text import outline, template
from entail.trees.layout.appearance import KINDS, NAMES
from entail.trees.layout.drawing import COLUMN, Direction, columns_of, width_of
from entail.trees.layout.positions import layout
from entail.trees.log.tree import ROOT, Tree

MARGIN = 16
"""Pixels around the drawing."""


def to_svg(
    tree: Tree, *, with_rejected: bool = False, direction: Direction | None = None, start: str = ROOT
) -> str:
    """Return a tree as a standalone SVG picture with a legend; see `layout` for the arguments.

    Fonts are generic and nothing is fetched. Each box has its whole sentence as its title; the description of
    the picture is the tree as an outline.
    """
    drawing = layout(tree, with_rejected=with_rejected, direction=direction, start=start)
    kinds = [kind for kind in KINDS if any(box.kind == kind for box in drawing.boxes.values())]
    *key_starts, keys_end = accumulate((72 + columns_of(NAMES[kind]) * COLUMN for kind in kinds), initial=0.0)
    legend_top = drawing.height + MARGIN
    return template("picture.svg").render(
        drawing=drawing,
        title=tree.node(start).text,
        description="\n".join(map(str, outline(tree, with_rejected=with_rejected))),
        finished=tree.finished,
        width=max(drawing.width + MARGIN, keys_end) + MARGIN,
        height=legend_top + 20 + 2 * MARGIN,
        margin=MARGIN,
        legend_top=legend_top,
        keys=[*zip(kinds, key_starts, strict=True)],
        width_of=width_of,
    )
