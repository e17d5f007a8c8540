"""Export to DOT, the language of Graphviz."""

from __future__ import annotations

from entail.trees.formats.escaping import dot_quoted
from entail.trees.layout.appearance import FONT_SIZE, LIGHT, SHAPES, Theme
from entail.trees.layout.positions import layout
from entail.trees.log.tree import Tree

_STYLES = {"ellipse": "filled", "rounded": "filled,rounded", "rectangle": "filled", "dashed": "filled,dashed"}


def to_dot(tree: Tree, *, with_rejected: bool = False, theme: Theme = LIGHT) -> str:
    """Return a tree as DOT; `dot -Tpdf` draws it with the hypothesis on top.

    Edges go from a premise to what it explains; premises keep their order; labels are wrapped.
    """
    lines = [
        "digraph explanation {",
        '  graph [fontname="sans-serif", rankdir=BT, ordering=in, charset=utf8, '
        f"label={dot_quoted(tree.root.text)}, labelloc=t, fontcolor={dot_quoted(theme.text)}, "
        f"bgcolor={dot_quoted(theme.background)}];",
        f'  node [fontname="sans-serif", fontsize={FONT_SIZE}, penwidth=2];',
        f"  edge [color={dot_quoted(theme.edge)}];",
    ]
    drawing = layout(tree, with_rejected=with_rejected)
    for id, place in drawing.places.items():
        shape, look = SHAPES[place.kind], theme.looks[place.kind]
        wrapped = "\n".join(place.lines)
        lines.append(
            f"  {dot_quoted(id)} [shape={'ellipse' if shape == 'ellipse' else 'box'}, "
            f"style={dot_quoted(_STYLES[shape])}, fillcolor={dot_quoted(look.fill)}, "
            f"color={dot_quoted(look.border)}, fontcolor={dot_quoted(look.text)}, "
            f"label={dot_quoted(wrapped)}];"
        )
    for parent, child in drawing.edges:
        dotted = " [style=dotted, arrowhead=none]" if drawing.places[child].kind == "rejected" else ""
        lines.append(f"  {dot_quoted(child)} -> {dot_quoted(parent)}{dotted};")
    return "\n".join((*lines, "}", ""))
