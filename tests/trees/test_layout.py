"""Places of nodes: no overlaps, whatever the tree, always the same; lines of text."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from entail.data.records import Premise
from entail.trees.formats.entailment_bank import grow
from entail.trees.layout import appearance
from entail.trees.layout.appearance import DARK, DOTS, KINDS, LIGHT, NAMES, SHAPES, Theme
from entail.trees.layout.boxes import SCREEN, STACK_GAP, WIDTHS, columns_of, width_of, wrap
from entail.trees.layout.drawing import Box, Direction, Layout, Segment, rejected_id
from entail.trees.layout.positions import PANE, layout
from entail.trees.log.acts import Accept, Create, GivenNode, Reject, Write
from entail.trees.log.tree import Tree, TreeBuilder

Tell = Callable[..., Any]


# --- lines ---


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 10, ("",)),
        ("   \n ", 10, ("",)),
        ("ice is cold water", 12, ("ice is cold", "water")),
        ("two\nlines  and\ttabs", 40, ("two lines and tabs",)),
        ("abcdefghij", 4, ("abc", "defg", "hij")),
        ("see abcdefgh now", 5, ("see", "abcd", "efgh", "now")),
        ("凍った水は冷たい", 5, ("凍っ", "た水", "は冷", "たい")),
    ],
)
def test_text_is_broken_at_spaces_and_long_words_anywhere(
    text: str, width: int, lines: tuple[str, ...]
) -> None:
    assert wrap(text, width) == lines


def test_marks_stay_with_their_character() -> None:
    accented = "e\u0301" * 12
    assert all(line[0] == "e" for line in wrap(accented, 4))
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    assert all(line.startswith("\U0001f469") for line in wrap(family * 6, 8))
    assert wrap(family * 3, 5) == (family,) * 3
    thumb = "\U0001f44d\U0001f3fd"
    assert wrap(thumb * 4, 5) == (thumb * 2, thumb * 2)


@given(st.text(), st.integers(3, 60))
def test_lines_keep_every_word_and_stay_within_the_width(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(columns_of(line) <= width or "\u200d" in line for line in lines)


# --- places, by hand ---

DIRECTIONS: tuple[Direction, ...] = ("right", "down")
BOTH = pytest.mark.parametrize("direction", DIRECTIONS)


def labels(drawing: Layout) -> dict[str, str]:
    return {id: box.text for id, box in drawing.boxes.items()}


def grown(*parents: int | None, text: str = "a fact of a few words") -> Tree:
    """Return a tree of one node below each of these parents, -1 for the hypothesis."""
    return grow(
        Create(hypothesis="h", nodes=tuple(GivenNode(f"{text} {i}", p) for i, p in enumerate(parents)))
    )


@BOTH
def test_rejected_premises_follow_the_premises_when_asked(tell: Tell, direction: Direction) -> None:
    story = tell("h")
    story.ann(Reject(node="n1", premise=Premise("r")))
    story.ann(Accept(node="n1", premise=Premise("a")))
    story.ann(Reject(node="n3", premise=Premise("s")))
    tree = story.tree
    assert labels(layout(tree, direction=direction)) == {"n1": "h", "n3": "a"}
    drawing = layout(tree, with_rejected=True, direction=direction)
    r, s = rejected_id("n1", Premise("r").key), rejected_id("n3", Premise("s").key)
    boxes = [(id, box.kind, box.parent, box.layer) for id, box in drawing.boxes.items()]
    assert boxes[2:] == [(r, "rejected", "n1", 1), (s, "rejected", "n3", 2)]
    steps = [(step.parent, step.rejected, step.stem is not None) for step in drawing.steps]
    assert steps == [("n1", False, True), ("n1", True, False), ("n3", True, True)]


def test_premises_that_follow_each_other_stand_below_each_other() -> None:
    boxes = layout(grown(-1, -1, -1), direction="right").boxes
    root, a, b, c = boxes.values()
    assert a.left == b.left == c.left > root.right
    assert (b.top - a.bottom, c.top - b.bottom, root.y) == (STACK_GAP, STACK_GAP, b.y)
    a, b, c, d = (layout(grown(-1, -1, -1, -1, 2), direction="down").boxes[f"n1.{i}"] for i in (1, 2, 3, 4))
    assert (a.left, b.top - a.bottom) == (b.left, STACK_GAP)
    assert a.right < c.left < c.right < d.left
    assert a.top == c.top == d.top


def test_nothing_below_a_collapsed_node_is_drawn_and_it_says_how_much(tell: Tell) -> None:
    story = tell("h")
    for node, text in (("n1", "a"), ("n2", "b"), ("n3", "c")):
        story.ann(Write(node=node, text=text))
    story.ann(Reject(node="n2", premise=Premise("r")))
    drawing = layout(story.tree, collapsed={"n2", "gone"}, with_rejected=True)
    assert labels(drawing) == {"n1": "h", "n2": "a"}
    assert (drawing.boxes["n2"].hidden, drawing.boxes["n1"].hidden) == (2, 0)


@BOTH
def test_loose_trees_stand_behind_the_hypothesis_and_its_premises(direction: Direction) -> None:
    boxes = layout(grown(-1, None, 1, None), direction=direction).boxes
    above = [(0, None), (1, "n1"), (1, None), (2, "n1.2"), (1, None)]
    assert [(box.layer, box.parent) for box in boxes.values()] == above
    loose, tops = boxes["n1.2"], [boxes["n1"], boxes["n1.1"]]
    is_right = direction == "right"
    assert all(loose.top > box.bottom if is_right else loose.left > box.right for box in tops)


SENTENCE = "a sentence of a usual length says that one kind of thing is another"


@pytest.mark.parametrize(
    ("tree", "room"),
    [
        (grown(-1, -1, 0, 0), PANE),
        (grown(*[-1] * 8, *range(8), *range(8), *range(8)), SCREEN),
        (grown(*[(i - 1) // 3 for i in range(39)], text=SENTENCE), SCREEN),
        (grown(*[-1] * 5, *[i // 2 for i in range(34)], text=SENTENCE), SCREEN),
    ],
    ids=["small", "wide", "three premises each", "two premises each"],
)
def test_trees_of_forty_nodes_fit_on_a_screen(tree: Tree, room: tuple[int, int]) -> None:
    drawing = layout(tree)
    assert len(drawing.boxes) == len(tree.nodes)
    assert (drawing.width <= room[0], drawing.height <= room[1]) == (True, True)


def test_a_long_text_is_wrapped_and_can_be_cut() -> None:
    def box(**options: Any) -> Any:
        tree = grow(Create(hypothesis="h", nodes=(GivenNode("word " * 120, -1),)))
        return layout(tree, **options).boxes["n1.1"]

    long, short = box(), box(max_lines=3)
    assert max(columns_of(line) for line in long.lines) <= WIDTHS[-1]
    assert " ".join(long.lines) == ("word " * 120).strip()
    assert (len(short.lines), short.lines[-1][-1], short.text) == (3, "…", long.text)
    assert short.height < long.height


def test_collapsing_does_not_wrap_other_texts_anew() -> None:
    tree = grown(*[-1] * 3, *[i // 4 for i in range(60)])
    before, after = layout(tree), layout(tree, collapsed={"n1.1", "n1.2"})
    assert after.direction == before.direction
    assert all(box.lines == before.boxes[id].lines for id, box in after.boxes.items())


@BOTH
def test_a_chain_of_thousands_and_a_fan_of_thousands_are_laid_out(direction: Direction) -> None:
    chain = grow(Create(hypothesis="h", nodes=tuple(GivenNode(f"t{i}", i - 1) for i in range(3000))))
    fan = grow(Create(hypothesis="h", nodes=tuple(GivenNode(f"t{i}", -1) for i in range(3000))))
    assert layout(chain, direction=direction).boxes["n1.3000"].layer == 3000
    assert len({box.y for box in layout(fan, direction=direction).boxes.values()}) >= 3000


# --- places, whatever the tree ---


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Draw a tree with loose nodes, short and long texts, and rejected premises."""
    texts = st.sampled_from(["a", "some words here", "many words " * 5, "W" * 40, "very long " * 60])
    nodes = []
    for i in range(draw(st.integers(0, 25))):
        parent = draw(st.sampled_from([-1, None, *range(i)]))
        nodes.append(GivenNode(draw(texts), parent))
    builder = TreeBuilder(grow(Create(hypothesis=draw(texts), nodes=tuple(nodes))))
    for seq in range(2, 2 + draw(st.integers(0, 4))):
        node = draw(st.sampled_from([*builder.peek().nodes]))
        builder.apply(Reject(node=node, premise=Premise(f"r{seq} {draw(texts)}")), seq=seq, author="Ann")
    return builder.freeze(seq=9)


DIRECTION = st.sampled_from(DIRECTIONS)


def apart(one: Box, other: Box) -> bool:
    """Return whether there is room between two boxes."""
    aside = max(one.left - other.right, other.left - one.right)
    below = max(one.top - other.bottom, other.top - one.bottom)
    return max(aside, below) >= STACK_GAP - 1e-6


def crosses(segment: Segment, place: Box) -> bool:
    """Return whether a horizontal or vertical line runs through a box."""
    (x1, y1), (x2, y2) = segment
    inside = max(x1, x2) > place.left + 1 and min(x1, x2) < place.right - 1
    return inside and max(y1, y2) > place.top + 1 and min(y1, y2) < place.bottom - 1


def test_a_wide_premise_of_a_narrow_conclusion_in_a_list_stands_to_its_right() -> None:
    long, wide = "many words " * 6, "some words here"
    parents = ((long, -1), (wide, -1), (long, 0), (wide, -1), (long, -1), ("a", 3), ("a", 3), (wide, 5))
    drawing = layout(
        grow(Create(hypothesis="a", nodes=tuple(GivenNode(*node) for node in parents))), direction="down"
    )
    assert drawing.boxes["n1.8"].left > drawing.boxes["n1.6"].left
    lines = [line for step in drawing.steps for line in step.lines]
    assert not [box for box in drawing.boxes.values() if any(crosses(line, box) for line in lines)]


@given(trees(), DIRECTION, st.booleans(), st.data())
def test_no_boxes_overlap_and_no_line_runs_through_a_box(
    tree: Tree, direction: Direction, with_rejected: bool, data: st.DataObject
) -> None:
    collapsed = data.draw(st.sets(st.sampled_from([*tree.nodes])))
    drawing = layout(tree, collapsed=collapsed, with_rejected=with_rejected, direction=direction)
    boxes = [*drawing.boxes.values()]
    assert all(apart(first, second) for first, second in combinations(boxes, 2))
    assert min(box.left for box in boxes) >= -1e-6
    assert min(box.top for box in boxes) >= -1e-6
    for step in drawing.steps:
        assert not any(crosses(line, box) for line in step.lines for box in boxes)


@given(trees(), DIRECTION, st.booleans())
def test_lines_lead_from_every_premise_to_its_conclusion(
    tree: Tree, direction: Direction, with_rejected: bool
) -> None:
    drawing = layout(tree, with_rejected=with_rejected, direction=direction)
    points = {(round(x, 3), round(y, 3)) for step in drawing.steps for rail in step.rails for x, y in rail}
    stems = {step.parent: step.stem for step in drawing.steps if step.stem}
    for id, box in drawing.boxes.items():
        if box.parent is not None:
            sides = ((box.left, box.y), (box.x, box.top))
            assert any((round(x, 3), round(y, 3)) in points for x, y in sides), id
            (x, y), end = stems[box.parent][1], drawing.boxes[box.parent]
            on_the_right = abs(x - end.right) < 1e-6 and abs(y - end.y) < end.height / 2
            below = abs(y - end.bottom) < 1e-6 and abs(x - end.x) < end.width / 2
            assert on_the_right if direction == "right" else below


@given(trees(), DIRECTION)
def test_premises_keep_their_order(tree: Tree, direction: Direction) -> None:
    boxes = layout(tree, direction=direction).boxes
    for node in tree.nodes.values():
        for first, second in pairwise(node.children):
            is_left = boxes[first].right < boxes[second].left and direction == "down"
            assert is_left or boxes[first].bottom < boxes[second].top


@settings(max_examples=30)
@given(trees())
def test_texts_lie_inside_their_boxes(tree: Tree) -> None:
    for box in layout(tree, with_rejected=True).boxes.values():
        room = box.width - 2 * appearance.PADDING_X, box.height - 2 * appearance.PADDING_Y
        assert max(width_of(line, box.kind) for line in box.lines) <= room[0] + 1e-6
        assert len(box.lines) * appearance.LINE_HEIGHT <= room[1]


@given(trees(), DIRECTION, st.data())
def test_one_more_leaf_moves_nobody_past_anybody(
    tree: Tree, direction: Direction, data: st.DataObject
) -> None:
    builder = TreeBuilder(tree)
    parent = data.draw(st.sampled_from([*tree.nodes]))
    builder.apply(Write(node=parent, text="one more"), seq=50, author="Ann")
    before = layout(tree, direction=direction).boxes
    after = layout(builder.freeze(seq=50), direction=direction).boxes
    for layer in {box.layer for box in before.values()} if direction == "right" else ():
        ids = [id for id in before if before[id].layer == layer]
        assert sorted(ids, key=lambda id: after[id].y) == sorted(ids, key=lambda id: before[id].y)


# --- colours ---

# Machado, Oliveira and Fernandes (2009), severity 1, linear RGB.
SEEN_BY = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = TO_XYZ @ np.ones(3)

Colour = NDArray[np.float64]


def linear(colour: str) -> Colour:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2: (lighter + 0.05) / (darker + 0.05)."""
    dark, light = sorted(float((TO_XYZ @ linear(colour))[1]) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(colour: Colour) -> Colour:
    ratio = TO_XYZ @ np.clip(colour, 0, 1) / WHITE
    x, y, z = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


@THEMES
@pytest.mark.parametrize("kind", KINDS)
def test_texts_and_borders_have_contrast(theme: Theme, kind: str) -> None:
    look = theme.looks[kind]  # type: ignore[index]  # one of the kinds, as a str
    assert contrast(theme.text, theme.background) >= 4.5
    assert contrast(theme.edge, theme.background) >= 3
    assert contrast(look.text, look.fill) >= 4.5
    assert contrast(look.border, theme.background) >= 3
    assert contrast(look.border, look.fill) >= 3


@THEMES
@pytest.mark.parametrize("reader", SEEN_BY)
@pytest.mark.parametrize(("part", "apart"), [("border", 10), ("fill", 9)])
def test_kinds_stay_apart_for_every_reader(theme: Theme, reader: str, part: str, apart: float) -> None:
    for first, second in combinations(KINDS, 2):
        points = [lab(SEEN_BY[reader] @ linear(getattr(theme.looks[kind], part))) for kind in (first, second)]
        assert np.linalg.norm(points[0] - points[1]) > apart, (first, second)


def test_every_kind_has_a_name_and_a_shape_of_its_own() -> None:
    assert set(KINDS) == set(NAMES) == set(SHAPES) == set(LIGHT.looks) == set(DARK.looks)
    assert len(set(SHAPES.values())) == len(set(NAMES.values())) == len(KINDS)
    assert len(DOTS) == 2
