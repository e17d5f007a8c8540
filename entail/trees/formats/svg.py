"""Trees as pictures: SVG that needs nothing beside itself."""

from __future__ import annotations

from xml.etree import ElementTree as ET

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
    Theme,
)
from entail.trees.layout.positions import LAYER_GAP, Place, columns_of, layout
from entail.trees.log.tree import Tree

_HEAD = 8
_MARGIN, _KEY_WIDTH, _KEY_HEIGHT, _KEY_GAP = 24, 36, 20, 28


def to_svg(tree: Tree, *, with_rejected: bool = False, theme: Theme = LIGHT) -> str:
    """Return a tree as a standalone SVG picture with a legend.

    Fonts are generic, nothing is fetched, and texts are text whatever they hold. Each box has its whole
    sentence as its title; the picture's description is the tree as an outline.
    """
    drawing = layout(tree, with_rejected=with_rejected)
    kinds = [kind for kind in KINDS if any(place.kind == kind for place in drawing.places.values())]
    left, top = drawing.left - _MARGIN, -float(_MARGIN)
    width = max(drawing.right - drawing.left, _legend_width(kinds)) + 2 * _MARGIN
    height = drawing.bottom + _KEY_HEIGHT + 3 * _MARGIN
    svg = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": " ".join(map(_number, (left, top, width, height))),
            "width": _number(width),
            "height": _number(height),
            "role": "img",
            "aria-labelledby": "title description",
            "font-family": FONTS,
            "font-size": str(FONT_SIZE),
        },
    )
    ET.SubElement(svg, "title", id="title").text = printable(tree.root.text)
    lines = outline(tree, with_rejected=with_rejected)
    ET.SubElement(svg, "desc", id="description").text = printable("\n".join(map(str, lines)))
    _arrow(svg, theme)
    ET.SubElement(svg, "rect", _attributes(x=left, y=top, width=width, height=height, fill=theme.background))
    for parent, child in drawing.edges:
        _edge(svg, drawing.places[parent], drawing.places[child], theme)
    for place in drawing.places.values():
        _box(svg, place, theme)
    _legend(svg, kinds, drawing.left, drawing.bottom + _MARGIN, theme)
    for element in svg:
        element.tail = "\n"
    return ET.tostring(svg, encoding="unicode") + "\n"


def _arrow(svg: ET.Element, theme: Theme) -> None:
    marker = ET.SubElement(
        ET.SubElement(svg, "defs"),
        "marker",
        _attributes(
            id="arrow",
            viewBox=f"0 0 {_HEAD} {_HEAD}",
            refX=_HEAD,
            refY=_HEAD / 2,
            markerWidth=_HEAD,
            markerHeight=_HEAD,
            markerUnits="userSpaceOnUse",
            orient="auto",
        ),
    )
    ET.SubElement(marker, "path", _attributes(d=f"M0 0 L{_HEAD} {_HEAD / 2} L0 {_HEAD} z", fill=theme.edge))


def _edge(svg: ET.Element, parent: Place, child: Place, theme: Theme) -> None:
    # The bend is between the layers, so that no edge runs behind a box of its parent's layer; what is left is
    # straight and at least as long as the arrow's head.
    gap, middle = child.top - LAYER_GAP + _HEAD, child.top - LAYER_GAP / 2
    x1, x2, y1, y2, y3, y4 = map(_number, (child.x, parent.x, child.top, middle, gap, parent.bottom))
    line = {
        "d": f"M{x1} {y1} C{x1} {y2} {x2} {y2} {x2} {y3} L{x2} {y4}",
        "fill": "none",
        "stroke": theme.edge,
        "stroke-width": "1.5",
    }
    if child.kind == "rejected":
        line |= {"stroke": theme.looks["rejected"].border, "stroke-dasharray": " ".join(map(str, DOTS))}
    else:
        line["marker-end"] = "url(#arrow)"
    ET.SubElement(svg, "path", line)


def _box(svg: ET.Element, place: Place, theme: Theme) -> None:
    group = ET.SubElement(svg, "g", {"class": place.kind})
    ET.SubElement(group, "title").text = printable(f"{NAMES[place.kind]}: {place.text}")
    _shape(group, place.kind, place.x, place.y, place.width, place.height, theme)
    text = ET.SubElement(
        group,
        "text",
        {
            "text-anchor": "middle",
            "fill": theme.looks[place.kind].text,
            "style": "unicode-bidi: plaintext",
        },
    )
    first = place.y - (len(place.lines) - 1) * LINE_HEIGHT / 2 + 0.35 * FONT_SIZE
    for i, line in enumerate(place.lines):
        span = ET.SubElement(text, "tspan", _attributes(x=place.x, y=first + i * LINE_HEIGHT))
        span.text = printable(line)


def _shape(
    group: ET.Element, kind: DrawnKind, x: float, y: float, width: float, height: float, theme: Theme
) -> None:
    shape, look = SHAPES[kind], theme.looks[kind]
    paint = {"fill": look.fill, "stroke": look.border, "stroke-width": str(BORDER_WIDTH)}
    if shape == "ellipse":
        ET.SubElement(group, "ellipse", {**_attributes(cx=x, cy=y, rx=width / 2, ry=height / 2), **paint})
        return
    if shape == "dashed":
        paint["stroke-dasharray"] = " ".join(map(str, DASHES))
    radius = min(CORNER, height / 2) if shape == "rounded" else 0
    box = _attributes(x=x - width / 2, y=y - height / 2, width=width, height=height, rx=radius)
    ET.SubElement(group, "rect", {**box, **paint})


def _legend(svg: ET.Element, kinds: list[DrawnKind], left: float, top: float, theme: Theme) -> None:
    legend = ET.SubElement(svg, "g", {"class": "legend"})
    x, y = left, top + _KEY_HEIGHT / 2
    for kind in kinds:
        _shape(legend, kind, x + _KEY_WIDTH / 2, y, _KEY_WIDTH, _KEY_HEIGHT, theme)
        name = ET.SubElement(
            legend, "text", _attributes(x=x + _KEY_WIDTH + 8, y=y + 0.35 * FONT_SIZE, fill=theme.text)
        )
        name.text = NAMES[kind]
        x += _key_width(kind)


def _key_width(kind: DrawnKind) -> float:
    return _KEY_WIDTH + 8 + columns_of(NAMES[kind]) * 0.6 * FONT_SIZE + _KEY_GAP


def _legend_width(kinds: list[DrawnKind]) -> float:
    return sum(map(_key_width, kinds))


def _attributes(**values: str | float) -> dict[str, str]:
    return {name: value if isinstance(value, str) else _number(value) for name, value in values.items()}


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
