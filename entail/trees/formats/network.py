"""Trees as pyvis's `Network`, and the script of vis-network that draws it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.trees.formats.text import printable
from entail.trees.layout.appearance import DOTS, SHAPES
from entail.trees.layout.positions import Layout, Place

if TYPE_CHECKING:
    from pyvis.network import Network

_VIS = "lib/vis-9.1.2/vis-network.min.js"


def to_network(drawing: Layout, describe: Callable[[str, Place], Mapping[str, Any]]) -> Network:
    """Return a drawing as a network: fixed positions, groups by kind, edges from premises to conclusions.

    Args:
        drawing: Boxes of the nodes.
        describe: Function from the id and the box of a node to further fields of the node.
    """
    from pyvis.network import Network

    network = Network(directed=True)
    for id, place in drawing.places.items():
        network.add_node(
            id,
            label="\n".join(map(printable, place.lines)) or " ",
            shape="ellipse" if SHAPES[place.kind] == "ellipse" else "box",
            group=place.kind,
            x=round(place.x),
            y=round(place.y),
            fixed=True,
            **describe(id, place),
        )
    for parent, child in drawing.edges:
        rejected = {"dashes": list(DOTS), "arrows": ""} if drawing.places[child].kind == "rejected" else {}
        network.add_edge(child, parent, id=child, **rejected)
    return network


@cache
def vis_script() -> str:
    """Return the script that pyvis ships, for a script element: without a source map to fetch."""
    import pyvis

    script = (Path(pyvis.__file__).parent / _VIS).read_text(encoding="utf-8")
    return script.partition("//# sourceMappingURL")[0].replace("</script", "<\\/script")
