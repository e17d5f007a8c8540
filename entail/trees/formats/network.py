"""Trees as pyvis's `Network`, and the script of vis-network that draws it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from entail.trees.formats.text import printable
from entail.trees.layout.appearance import BORDER_WIDTH, DOTS, INNER_LINE, PADDING_X, PADDING_Y, SHAPES
from entail.trees.layout.drawing import Layout

if TYPE_CHECKING:
    from pyvis.network import Network

_VIS = "lib/vis-9.1.2/vis-network.min.js"


def to_network(drawing: Layout) -> Network:
    """Return a drawing as a network of boxes in their places, in groups by kind.

    The lines of a step run between points, which are nodes of the groups `step` and `rejected-step` without a
    size. So vis-network draws them just as they are laid out.
    """
    from pyvis.network import Network

    network = Network(directed=True)
    for id, box in drawing.boxes.items():
        inner = INNER_LINE if SHAPES[box.kind] == "double" else 0
        network.add_node(
            id,
            label="\n".join(map(printable, box.lines)) or " ",
            title=printable(box.text),
            shape="box",
            group=box.kind,
            x=round(box.x),
            y=round(box.y),
            fixed=True,
            widthConstraint={"minimum": round(box.width - 2 * PADDING_X - BORDER_WIDTH)},
            heightConstraint={"minimum": round(box.height - 2 * (PADDING_Y + inner) - BORDER_WIDTH)},
        )
    for step in drawing.steps:
        group = "rejected-step" if step.rejected else "step"
        for line in (*step.rails, *([step.stem] if step.stem else [])):
            points = [f"{step.parent}@{group}@{x:.1f},{y:.1f}" for x, y in line]
            for id, (x, y) in zip(points, line, strict=True):
                network.add_node(
                    id, label=" ", shape="dot", size=0, group=group, x=round(x), y=round(y), fixed=True
                )
            arrow = "to" if line is step.stem and not step.rejected else ""
            dotted = {"dashes": list(DOTS)} if step.rejected else {}
            network.add_edge(*points, arrows=arrow, **dotted)
    return network


@cache
def vis_script() -> str:
    """Return the script that pyvis ships, for a script element: without a source map to fetch."""
    import pyvis

    script = (Path(pyvis.__file__).parent / _VIS).read_text(encoding="utf-8")
    return script.partition("//# sourceMappingURL")[0].replace("</script", "<\\/script")
