"""Positions of nodes without overlaps, lines of text, and contrast."""

from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.records import Premise
from entail.trees.formats.entailment_bank import grow
from entail.trees.layout.appearance import DARK, KINDS, LIGHT, NAMES, SHAPES, Theme
from entail.trees.layout.drawing import (
    Box,
    Direction,
    Segment,
    columns_of,
    wrap,
)
from entail.trees.layout.positions import COLUMNS, PANE, SCREEN, STACK_GAP, layout
from entail.trees.log.acts import Create, GivenNode, Reject
from entail.trees.log.tree import Tree, TreeBuilder
from tests.support.colours import contrast

FAMILY, THUMB = "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd"


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("   \n ", 10, ("",)),
        ("ice is cold water", 12, ("ice is cold", "water")),
        ("abcdefghij", 4, ("abc", "defg", "hij")),
        ("see abcdefgh now", 5, ("see", "abcd", "efgh", "now")),
        ("凍った水は冷たい", 5, ("凍っ", "た水", "は冷", "たい")),
        ("e\u0301" * 12, 4, ("e\u0301" * 3,) * 4),
        (FAMILY * 3, 5, (FAMILY,) * 3),
        (THUMB * 4, 5, (THUMB * 2, THUMB * 2)),
    ],
)
def test_text_is_broken_at_spaces_and_long_words_anywhere_but_in_a_character(
    text: str, width: int, lines: tuple[str, ...]
) -> None:
    assert wrap(text, width) == lines


@given(st.text(), st.integers(3, 60))
def test_lines_keep_every_word_and_stay_within_the_width(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(columns_of(line) <= width or "\u200d" in line for line in lines)


DIRECTIONS: tuple[Direction, ...] = ("right", "down")


def grown(*parents: int | None, text: str = "a fact of a few words") -> Tree:
    """Return a tree of one node below each of these parents, -1 for the hypothesis."""
    return grow(
        Create(hypothesis="h", nodes=tuple(GivenNode(f"{text} {i}", p) for i, p in enumerate(parents)))
    )


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
    assert max(columns_of(line) for line in long.lines) <= max(COLUMNS["right"])
    assert " ".join(long.lines) == ("word " * 120).strip()
    assert (len(short.lines), short.lines[-1][-1], short.text) == (3, "…", long.text)
    assert short.height < long.height


def test_a_collapsed_node_says_how_much_is_hidden_and_other_texts_keep_their_lines() -> None:
    tree = grown(*[-1] * 3, *[i // 4 for i in range(60)])
    before, after = layout(tree), layout(tree, collapsed={"n1.1", "n1.2", "gone"})
    hidden = {id: box.hidden for id, box in after.boxes.items() if box.hidden}
    assert hidden == {id: len(tree.descendants(id)) for id in ("n1.1", "n1.2")}
    assert len(after.boxes) == len(before.boxes) - sum(hidden.values())
    assert after.direction == before.direction
    assert all(box.lines == before.boxes[id].lines for id, box in after.boxes.items())


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_chain_of_thousands_and_a_fan_of_thousands_are_laid_out(direction: Direction) -> None:
    chain = grow(Create(hypothesis="h", nodes=tuple(GivenNode(f"t{i}", i - 1) for i in range(3000))))
    fan = grow(Create(hypothesis="h", nodes=tuple(GivenNode(f"t{i}", -1) for i in range(3000))))
    assert layout(chain, direction=direction).boxes["n1.3000"].layer == 3000
    assert len({box.y for box in layout(fan, direction=direction).boxes.values()}) >= 3000


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


@given(trees(), st.sampled_from(DIRECTIONS), st.booleans(), st.data())
def test_boxes_are_apart_in_order_and_joined_by_lines_that_run_through_none(
    tree: Tree, direction: Direction, with_rejected: bool, data: st.DataObject
) -> None:
    collapsed = data.draw(st.sets(st.sampled_from([*tree.nodes])))
    drawing = layout(tree, collapsed=collapsed, with_rejected=with_rejected, direction=direction)
    boxes = [*drawing.boxes.values()]
    assert all(apart(first, second) for first, second in combinations(boxes, 2))
    assert min(box.left for box in boxes) >= -1e-6
    assert min(box.top for box in boxes) >= -1e-6
    for node in tree.nodes.values():
        siblings = (drawing.boxes[child] for child in node.children if child in drawing.boxes)
        for first, second in pairwise(siblings):
            assert (first.right < second.left and direction == "down") or first.bottom < second.top
    for step in drawing.steps:
        assert not any(crosses(line, box) for line in step.lines for box in boxes)
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


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_and_borders_have_contrast(theme: Theme) -> None:
    assert set(theme.looks) == set(KINDS)
    assert contrast(theme.text, theme.background) >= 4.5
    assert contrast(theme.edge, theme.background) >= 3
    for look in theme.looks.values():
        assert contrast(look.text, look.fill) >= 4.5
        assert min(contrast(look.border, theme.background), contrast(look.border, look.fill)) >= 3
    assert len(set(SHAPES.values())) == len(set(NAMES.values())) == len(KINDS)
