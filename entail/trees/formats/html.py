"""Trees as pages: one HTML file that needs nothing beside itself, not even a network."""

from __future__ import annotations

from html import escape
from typing import Any

from entail.trees.formats.network import to_network, vis_script
from entail.trees.formats.text import Line, outline, printable, script_json
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
    DrawnKind,
    Theme,
)
from entail.trees.layout.positions import Place, layout
from entail.trees.log.tree import Tree


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
    kinds = [kind for kind in KINDS if kind in {node["group"] for node in drawings[-1]["nodes"]}]
    title = escape(printable(tree.root.text))
    themes = {"light": _groups(LIGHT), "dark": _groups(DARK)}
    switch = (
        '<label><input type="checkbox" id="rejected"> Show rejected premises</label>' if with_rejected else ""
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{_CSS}{_colours(LIGHT)}
@media (prefers-color-scheme: dark) {{
{_colours(DARK)}
}}
</style>
</head>
<body>
<main>
<h1 dir="auto">{title}</h1>
<div class="bar">
<ul class="legend" aria-label="Legend">
{"".join(map(_key, kinds))}</ul>
{switch}
<button type="button" id="fit" hidden>Fit</button>
</div>
<div id="graph" role="img" aria-label="The tree as a graph; the outline below says the same as text."></div>
<noscript><p>The graph needs scripts; the outline below says the same.</p></noscript>
<h2>Outline</h2>
{_list(outline(tree, with_rejected=with_rejected))}
</main>
<script>
{vis_script()}
</script>
<script>
const drawings = {script_json(drawings)};
const themes = {script_json(themes)};
const options = {script_json(_OPTIONS)};
{_SCRIPT}</script>
</body>
</html>
"""


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


def _colours(theme: Theme) -> str:
    rules = [f":root {{ color: {theme.text}; background: {theme.background}; --edge: {theme.edge}; }}"]
    rules += [
        f".{kind} {{ background: {look.fill}; border-color: {look.border}; color: {look.text}; }}"
        for kind, look in theme.looks.items()
    ]
    return "\n".join(rules)


def _list(lines: list[Line]) -> str:
    """Return the outline as nested lists."""
    html: list[str] = []
    level = 0
    for line in lines:
        if line.level > level:
            html.append("<ul>")
        else:
            html.append("</li></ul>" * (level - line.level) + "</li>")
        level = line.level
        html.append(f'<li>{_tag(line.kind)} <span dir="auto">{escape(printable(line.text))}</span>')
    return "\n".join((*html, "</li></ul>" * level))


def _key(kind: DrawnKind) -> str:
    return f'<li><span class="key {SHAPES[kind]} {kind}"></span>{NAMES[kind]}</li>\n'


def _tag(kind: DrawnKind) -> str:
    return f'<span class="tag {SHAPES[kind]} {kind}">{NAMES[kind]}</span>'


_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"

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

_CSS = f"""body {{ margin: 0; font: 16px/1.5 {FONTS}; }}
main {{ max-width: 100rem; margin: auto; padding: 1rem; }}
h1 {{ font-size: 1.4rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.1rem; }}
#graph {{ height: 70vh; min-height: 20rem; border: 1px solid var(--edge); }}
.bar, .legend {{ display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; }}
.legend {{ list-style: none; padding: 0; }}
.key, .tag {{ border: {BORDER_WIDTH}px solid; }}
.key {{ display: inline-block; width: 2.2rem; height: 1.1rem; margin-right: .5rem; vertical-align: -.2rem; }}
.tag {{ font-size: .8rem; padding: 0 .4rem; white-space: nowrap; }}
.ellipse {{ border-radius: 50%; }}
.tag.ellipse {{ border-radius: 1rem / 100%; }}
.rounded {{ border-radius: .6rem; }}
.dashed {{ border-style: dashed; }}
li {{ margin: .3rem 0; overflow-wrap: anywhere; }}
"""

_SCRIPT = """
const dark = matchMedia("(prefers-color-scheme: dark)");
const themed = () => themes[dark.matches ? "dark" : "light"];
const drawing = (which) => ({
  nodes: new vis.DataSet(drawings[which].nodes),
  edges: new vis.DataSet(drawings[which].edges),
});
const graph = document.getElementById("graph");
const network = new vis.Network(graph, drawing(0), {
  ...options,
  groups: themed().groups,
  edges: {...options.edges, ...themed().edges},
});
const fit = () => network.fit({animation: false});
dark.addEventListener("change", () => {
  network.setOptions({groups: themed().groups, edges: themed().edges});
  network.redraw();
});
const rejected = document.getElementById("rejected");
if (rejected) rejected.addEventListener("change", () => network.setData(drawing(rejected.checked ? 1 : 0)));
const button = document.getElementById("fit");
button.hidden = false;
button.addEventListener("click", fit);
fit();
"""
