"""Trees as self-contained SVG pictures."""

from __future__ import annotations

from xml.sax.saxutils import escape

from entail.trees.formats.text import outline, printable
from entail.trees.layout.appearance import (
    BORDER_WIDTH,
    CORNER,
    DASHES,
    DOTS,
    FONT_SIZE,
    FONTS,
    KINDS,
    LIGHT,
    LINE_HEIGHT,
    NAMES,
    SHAPES,
    DrawnKind,
)
from entail.trees.layout.positions import LAYER_GAP, Place, columns_of, layout
from entail.trees.log.tree import Tree

_HEAD = 8
_MARGIN, _KEY_WIDTH, _KEY_HEIGHT, _KEY_GAP = 24, 36, 20, 28
_ARROW = (
    f'<defs><marker id="arrow" viewBox="0 0 {_HEAD} {_HEAD}" refX="{_HEAD}" refY="4" markerWidth="{_HEAD}" '
    f'markerHeight="{_HEAD}" markerUnits="userSpaceOnUse" orient="auto">'
    f'<path d="M0 0 L{_HEAD} {_HEAD / 2} L0 {_HEAD} z" fill="{LIGHT.edge}" /></marker></defs>'
)


def to_svg(tree: Tree, *, with_rejected: bool = False) -> str:
    """Return a tree as a standalone SVG picture with a legend.

    Fonts are generic and nothing is fetched. Each box has its whole sentence as its title; the description of
    the picture is the tree as an outline.
    """
    drawing = layout(tree, with_rejected=with_rejected)
    kinds = [kind for kind in KINDS if any(place.kind == kind for place in drawing.places.values())]
    left, top = drawing.left - _MARGIN, -float(_MARGIN)
    width = max(drawing.right - drawing.left, sum(map(_key_width, kinds))) + 2 * _MARGIN
    height = drawing.bottom + _KEY_HEIGHT + 3 * _MARGIN
    x, y, w, h = map(_number, (left, top, width, height))
    description = "\n".join(map(str, outline(tree, with_rejected=with_rejected)))
    elements = [
        f'<title id="title">{_text(tree.root.text)}</title>',
        f'<desc id="description">{_text(description)}</desc>',
        _ARROW,
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{LIGHT.background}" />',
        *(_edge(drawing.places[parent], drawing.places[child]) for parent, child in drawing.edges),
        *map(_box, drawing.places.values()),
        _legend(kinds, drawing.left, drawing.bottom + _MARGIN),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x} {y} {w} {h}" width="{w}" height="{h}" '
        f'role="img" aria-labelledby="title description" font-family="{FONTS}" font-size="{FONT_SIZE}">'
        + "\n".join((*elements, "</svg>\n"))
    )


def _edge(parent: Place, child: Place) -> str:
    # The bend is between the layers, so that no edge runs behind a box of its parent's layer; the rest is
    # straight and at least as long as the arrow's head.
    gap, middle = child.top - LAYER_GAP + _HEAD, child.top - LAYER_GAP / 2
    x1, x2, y1, y2, y3, y4 = map(_number, (child.x, parent.x, child.top, middle, gap, parent.bottom))
    stroke, end = LIGHT.edge, 'marker-end="url(#arrow)"'
    if child.kind == "rejected":
        stroke, end = LIGHT.looks["rejected"].border, f'stroke-dasharray="{DOTS[0]} {DOTS[1]}"'
    path = f"M{x1} {y1} C{x1} {y2} {x2} {y2} {x2} {y3} L{x2} {y4}"
    return f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="1.5" {end} />'


def _box(place: Place) -> str:
    first = place.y - (len(place.lines) - 1) * LINE_HEIGHT / 2 + 0.35 * FONT_SIZE
    lines = "".join(
        f'<tspan x="{_number(place.x)}" y="{_number(first + i * LINE_HEIGHT)}">{_text(line)}</tspan>'
        for i, line in enumerate(place.lines)
    )
    return (
        f'<g class="{place.kind}"><title>{_text(f"{NAMES[place.kind]}: {place.text}")}</title>'
        f"{_shape(place.kind, place.x, place.y, place.width, place.height)}"
        f'<text text-anchor="middle" fill="{LIGHT.looks[place.kind].text}" style="unicode-bidi: plaintext">'
        f"{lines}</text></g>"
    )


def _shape(kind: DrawnKind, x: float, y: float, width: float, height: float) -> str:
    shape, look = SHAPES[kind], LIGHT.looks[kind]
    paint = f'fill="{look.fill}" stroke="{look.border}" stroke-width="{BORDER_WIDTH}"'
    if shape == "ellipse":
        cx, cy, rx, ry = map(_number, (x, y, width / 2, height / 2))
        return f'<ellipse cx="{cx}" cy="{cy}" rx="{rx}" ry="{ry}" {paint} />'
    if shape == "dashed":
        paint += f' stroke-dasharray="{DASHES[0]} {DASHES[1]}"'
    radius = min(CORNER, height / 2) if shape == "rounded" else 0
    left, top, w, h, r = map(_number, (x - width / 2, y - height / 2, width, height, radius))
    return f'<rect x="{left}" y="{top}" width="{w}" height="{h}" rx="{r}" {paint} />'


def _legend(kinds: list[DrawnKind], left: float, top: float) -> str:
    keys, x, y = "", left, top + _KEY_HEIGHT / 2
    for kind in kinds:
        keys += _shape(kind, x + _KEY_WIDTH / 2, y, _KEY_WIDTH, _KEY_HEIGHT)
        at = f'x="{_number(x + _KEY_WIDTH + 8)}" y="{_number(y + 0.35 * FONT_SIZE)}"'
        keys += f'<text {at} fill="{LIGHT.text}">{NAMES[kind]}</text>'
        x += _key_width(kind)
    return f'<g class="legend">{keys}</g>'


def _key_width(kind: DrawnKind) -> float:
    return _KEY_WIDTH + 8 + columns_of(NAMES[kind]) * 0.6 * FONT_SIZE + _KEY_GAP


def _text(text: str) -> str:
    return escape(printable(text))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
