"""Trees as self-contained HTML pages that work offline."""

from __future__ import annotations

from entail.trees.formats.network import OPTIONS, SAMPLE, SMALLEST, groups_of, to_network, vis_script
from entail.trees.formats.text import outline, printable, template
from entail.trees.layout.appearance import BORDER_WIDTH, DARK, FONT_SIZE, FONTS, KINDS, LIGHT, NAMES, SHAPES
from entail.trees.layout.drawing import Direction
from entail.trees.layout.positions import choose_direction, layout
from entail.trees.log.tree import Tree


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
    drawings = []
    for rejected in (False, True) if with_rejected else (False,):
        network = to_network(layout(tree, with_rejected=rejected, direction=direction))
        drawings.append({"nodes": network.nodes, "edges": network.edges})
    groups = {node["group"] for node in drawings[-1]["nodes"]}
    return template("page.html").render(
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
        vis_script=vis_script().replace("</script", "<\\/script"),
        drawings=drawings,
        themes={"light": groups_of(LIGHT), "dark": groups_of(DARK)},
        options={**OPTIONS, "interaction": {**OPTIONS["interaction"], "keyboard": {"bindToWindow": False}}},
        direction=direction,
        smallest=SMALLEST / FONT_SIZE,
        sample=SAMPLE,
    )
