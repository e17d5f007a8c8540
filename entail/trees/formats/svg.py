"""Trees as standalone SVG pictures."""

from __future__ import annotations

from collections.abc import Collection
from xml.sax.saxutils import escape, quoteattr

from entail.trees.formats.text import outline, printable
from entail.trees.layout.appearance import (
    BORDER_WIDTH,
    CORNER,
    DASHES,
    DOTS,
    FONT_SIZE,
    FONTS,
    INNER_LINE,
    KINDS,
    LIGHT,
    LINE_HEIGHT,
    NAMES,
    PADDING_X,
    SHAPES,
    DrawnKind,
)
from entail.trees.layout.boxes import COLUMN, columns_of, width_of
from entail.trees.layout.drawing import Direction, PlacedBox, Segment, Step
from entail.trees.layout.positions import layout
from entail.trees.log.tree import ROOT, Tree

MARGIN = 16
"""Pixels around the drawing; on the right or below also for the numbers of collapsed nodes."""
_HEAD, _KEY_WIDTH, _KEY_HEIGHT, _KEY_GAP = 8, 36, 20, 28
_SIGN, _AWAY = 17, 9
"""Height of the number at a collapsed node, and its distance from the box."""


def to_svg(
    tree: Tree,
    *,
    with_rejected: bool = False,
    collapsed: Collection[str] = (),
    direction: Direction | None = None,
    start: str = ROOT,
) -> str:
    """Return a tree as a standalone SVG picture with a legend; see `layout` for the arguments.

    Fonts are generic and nothing is fetched. Each box has its whole sentence as its title; the description of
    the picture is the tree as an outline.
    """
    drawing = layout(tree, with_rejected=with_rejected, collapsed=collapsed, direction=direction, start=start)
    description = "\n".join(map(str, outline(tree, with_rejected=with_rejected)))
    kinds = [kind for kind in KINDS if any(box.kind == kind for box in drawing.boxes.values())]
    below = MARGIN + (_SIGN if drawing.direction == "down" else 0)
    aside = MARGIN + (0 if drawing.direction == "down" else 2 * _SIGN)
    width = max(drawing.width + aside, sum(map(_key_width, kinds))) + MARGIN
    height = drawing.height + below
    w, h = map(_number, (width, height + _KEY_HEIGHT + 2 * MARGIN))
    stems = {step.parent: step.stem for step in drawing.steps if step.stem}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-{MARGIN} -{MARGIN} {w} {h}" width="{w}" '
        f'height="{h}" font-family="{FONTS}" font-size="{FONT_SIZE}" role="img" '
        f'aria-labelledby="title description"><title id="title">{_text(tree.node(start).text)}</title>'
        f'<desc id="description">{_text(description)}</desc>'
        f'<defs><marker id="arrow" viewBox="0 0 {_HEAD} {_HEAD}" refX="{_HEAD}" refY="4" '
        f'markerWidth="{_HEAD}" markerHeight="{_HEAD}" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0 0 L{_HEAD} {_HEAD / 2} L0 {_HEAD} z" fill="{LIGHT.edge}" /></marker></defs>',
        f'<rect class="ground" x="-{MARGIN}" y="-{MARGIN}" width="{w}" height="{h}" '
        f'fill="{LIGHT.background}" />',
        *map(_step, drawing.steps),
    ]
    for id, box in drawing.boxes.items():
        title = f"<title>{_text(f'{NAMES[box.kind]}: {box.text}')}</title>"
        signs = _tick(box) if id in tree.finished else ""
        if box.hidden:
            signs += _hidden_count(box, stems[id][1][0] if id in stems else box.x, drawing.direction)
        name = f"data-node={quoteattr(printable(id))}"
        parts.append(f'<g class="node {box.kind}" {name}>{title}{_box(box)}{signs}</g>')
    return "\n".join([*parts, f"{_legend(kinds, height)}</svg>\n"])


def _step(step: Step) -> str:
    lines = [*step.rails, *([step.stem] if step.stem else [])]  # the path ends with the arrow's line
    path = " ".join(map(_line, lines))
    kind, stroke, end = "step", LIGHT.edge, 'stroke-linecap="round" marker-end="url(#arrow)"'
    if step.rejected:
        kind, stroke = "step rejected", LIGHT.looks["rejected"].border
        end = f'stroke-dasharray="{DOTS[0]} {DOTS[1]}"'
    return f'<path class="{kind}" d="{path}" fill="none" stroke="{stroke}" stroke-width="1.5" {end} />'


def _line(segment: Segment) -> str:
    (x1, y1), (x2, y2) = segment
    return f"M{_number(x1)} {_number(y1)}L{_number(x2)} {_number(y2)}"


def _box(box: PlacedBox) -> str:
    inner = INNER_LINE if SHAPES[box.kind] == "double" else 0
    x = _number(box.left + PADDING_X + inner)
    first = box.y - (len(box.lines) - 1) * LINE_HEIGHT / 2 + 0.35 * FONT_SIZE
    lines = ""
    for i, line in enumerate(box.lines):
        at = f'x="{x}" y="{_number(first + i * LINE_HEIGHT)}"'
        length = f'textLength="{_number(width_of(line, box.kind))}" lengthAdjust="spacingAndGlyphs"'
        lines += f"<tspan {at} {length}>{_text(line)}</tspan>"
    weight = ' font-weight="600"' if box.kind == "hypothesis" else ""
    return (
        f"{_shape(box.kind, box.left, box.top, box.width, box.height)}"
        f'<text fill="{LIGHT.looks[box.kind].text}"{weight} style="unicode-bidi: plaintext">{lines}</text>'
    )


def _shape(kind: DrawnKind, left: float, top: float, width: float, height: float) -> str:
    shape, look = SHAPES[kind], LIGHT.looks[kind]
    dashes = f' stroke-dasharray="{DASHES[0]} {DASHES[1]}"' if shape == "dashed" else ""
    radius = min(CORNER, height / 2) if shape == "rounded" else 2
    paint = f'fill="{look.fill}" stroke="{look.border}"'
    outer = _rect("shape", left, top, width, height, radius, f'{paint} stroke-width="{BORDER_WIDTH}"{dashes}')
    if shape != "double":
        return outer
    inset = 2 * INNER_LINE
    sides = (left + INNER_LINE, top + INNER_LINE, width - inset, height - inset)
    return outer + _rect("inner", *sides, 0, f'fill="none" stroke="{look.border}"')


def _rect(name: str, x: float, y: float, width: float, height: float, radius: float, paint: str) -> str:
    x_, y_, w, h, r = map(_number, (x, y, width, height, radius))
    return f'<rect class="{name}" x="{x_}" y="{y_}" width="{w}" height="{h}" rx="{r}" {paint} />'


def _tick(box: PlacedBox) -> str:
    """Return the mark of a finished node, on the upper right corner of its box."""
    look = LIGHT.looks[box.kind]
    x, y = box.right - 8, box.top
    path = f"M{_number(x - 3.5)} {_number(y)}l2.5 3 4.5 -6"
    return (
        f'<g class="tick"><circle cx="{_number(x)}" cy="{_number(y)}" r="8" fill="{look.border}" />'
        f'<path d="{path}" fill="none" stroke="{LIGHT.background}" stroke-width="2" /></g>'
    )


def _hidden_count(box: PlacedBox, stem: float, direction: Direction) -> str:
    """Return the number of nodes that a collapsed node hides, on the line into it."""
    words = f"+{box.hidden}"
    width = max(_SIGN, 8 + columns_of(words) * COLUMN)
    if direction == "right":
        x, y = box.right + _AWAY + width / 2, box.y
    else:
        x, y = stem, box.bottom + _AWAY + _SIGN / 2
    look = LIGHT.looks[box.kind]
    paint = f'fill="{LIGHT.background}" stroke="{look.border}" stroke-width="1.5"'
    rect = _rect("", x - width / 2, y - _SIGN / 2, width, _SIGN, _SIGN / 2, paint)
    at = f'x="{_number(x)}" y="{_number(y + 4.5)}" text-anchor="middle" font-size="12" font-weight="600"'
    return f'<g class="fold">{rect}<text {at} fill="{LIGHT.text}">{words}</text></g>'


def _legend(kinds: list[DrawnKind], top: float) -> str:
    keys, x, y = "", 0.0, top + _KEY_HEIGHT / 2
    for kind in kinds:
        keys += f'<g class="{kind}">{_shape(kind, x, top, _KEY_WIDTH, _KEY_HEIGHT)}</g>'
        at = f'x="{_number(x + _KEY_WIDTH + 8)}" y="{_number(y + 0.35 * FONT_SIZE)}"'
        keys += f'<text {at} fill="{LIGHT.text}">{NAMES[kind]}</text>'
        x += _key_width(kind)
    return f'<g class="legend">{keys}</g>'


def _key_width(kind: DrawnKind) -> float:
    return _KEY_WIDTH + 8 + columns_of(NAMES[kind]) * COLUMN + _KEY_GAP


def _text(text: str) -> str:
    return escape(printable(text))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
