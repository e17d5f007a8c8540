"""Trees as SVG pictures, as DOT for Graphviz, and as GraphML for networkx, Gephi, yEd and the like.

In GraphML an edge goes from a premise to its conclusion. `judgement` is `accepted`, `rejected` or absent,
`sentence_id` the id in an imported row, `order` the position among the premises of its parent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import accumulate

from entail.trees.formats.text import outline, printable, reviews, template
from entail.trees.layout.appearance import FONT_SIZE, KINDS, LIGHT, NAMES, SHAPES
from entail.trees.layout.drawing import COLUMN, Direction, columns_of, rejected_id, width_of
from entail.trees.layout.positions import layout
from entail.trees.log.tree import ROOT, Tree

MARGIN = 16  # pixels around a picture


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
    review = "" if tree.review is None else str(tree.review)
    return template("picture.svg").render(
        drawing=drawing,
        title=tree.node(start).text,
        description="\n".join(map(str, (*outline(tree, with_rejected=with_rejected), *reviews(tree)))),
        finished={id for id in tree.nodes if tree.is_finished(id)},
        review=review,
        width=max(drawing.width + MARGIN, keys_end, width_of(review, "premise")) + MARGIN,
        height=legend_top + 20 + 2 * MARGIN + (FONT_SIZE + MARGIN if review else 0),
        margin=MARGIN,
        legend_top=legend_top,
        keys=[*zip(kinds, key_starts, strict=True)],
        width_of=width_of,
    )


def to_dot(tree: Tree) -> str:
    """Return a tree as DOT; `dot -Tpdf` draws it with the hypothesis on top."""
    graph = {"fontname": "sans-serif", "rankdir": "BT", "ordering": "in", "charset": "utf8", "labelloc": "t"}
    title = tree.root.text if tree.review is None else f"{tree.root.text}\n{tree.review}"
    graph |= {"label": title, "fontcolor": LIGHT.text, "bgcolor": LIGHT.background}
    lines = [
        "digraph explanation {",
        f"  graph {_attributes(graph)};",
        f"  node {_attributes({'fontname': 'sans-serif', 'fontsize': FONT_SIZE, 'penwidth': 2})};",
        f"  edge {_attributes({'color': LIGHT.edge})};",
    ]
    edges = []
    for id, box in layout(tree).boxes.items():
        shape, look = SHAPES[box.kind], LIGHT.looks[box.kind]
        style = "filled,rounded" if shape == "rounded" else "filled"
        about = {"shape": "box", "peripheries": 2 if shape == "double" else 1, "style": style}
        about |= {"fillcolor": look.fill, "color": look.border, "fontcolor": look.text}
        lines.append(f"  {quote_dot(id)} {_attributes({**about, 'label': chr(10).join(box.lines)})};")
        if box.parent is not None:
            edges.append(f"  {quote_dot(id)} -> {quote_dot(box.parent)};")
    return "\n".join((*lines, *edges, "}", ""))


def _attributes(values: Mapping[str, object]) -> str:
    return f"[{', '.join(f'{name}={quote_dot(str(value))}' for name, value in values.items())}]"


def quote_dot(text: str) -> str:
    r"""Return the text as a quoted DOT string.

    Graphviz interprets backslash sequences and HTML entities in labels, so `\` and `&` are escaped, too.

    >>> print(quote_dot('a "b" \\N &lt;'))
    "a \"b\" \\N &amp;lt;"
    """
    escaped = printable(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"\r\n|\r|\n", r"\\n", escaped) + '"'


def to_graphml(tree: Tree) -> str:
    """Return a tree as GraphML; rejected premises are nodes with an edge to their node."""
    import networkx as nx

    graph = nx.DiGraph(source=json.dumps(dict(tree.source)))
    if tree.review is not None:
        graph.graph["review"] = printable(str(tree.review))
    accepted = {judgement.seq for judgement in tree.judgements.values() if judgement.accepted}
    for node in tree.walk():
        about = {
            "text": printable(node.text),
            "kind": node.kind,
            "judgement": "accepted" if node.seq in accepted and node.origin == "accept" else None,
            "author": printable(node.author),
            "origin": node.origin,
            "sentence_id": node.label,
            "key": node.key,
            "order": tree.nodes[node.parent].children.index(node.id) if node.parent else 0,
        }
        graph.add_node(node.id, **{name: value for name, value in about.items() if value is not None})
        if node.parent is not None:
            graph.add_edge(node.id, node.parent, relation="explains")
    for (node_id, key), judgement in tree.judgements.items():
        if not judgement.accepted:
            box, text = rejected_id(node_id, key), printable(judgement.premise.text)
            about = {"kind": "rejected", "judgement": "rejected", "author": printable(judgement.author)}
            graph.add_node(box, text=text, **about, key=key)
            graph.add_edge(box, node_id, relation="rejected")
    lines = nx.generate_graphml(graph, named_key_ids=True)
    return "\n".join(('<?xml version="1.0" encoding="utf-8"?>', *lines, ""))
