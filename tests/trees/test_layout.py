"""Places of nodes: layers, no overlaps, always the same; lines of text."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.records import Premise
from entail.trees.formats.entailment_bank import grow
from entail.trees.layout import appearance
from entail.trees.layout.positions import (
    LAYER_GAP,
    LOOSE_GAP,
    NARROW,
    SIBLING_GAP,
    WIDE,
    Layout,
    columns_of,
    layout,
    rejected_id,
    wrap,
)
from entail.trees.log.acts import Accept, Conclude, Create, GivenNode, Reject, Write
from entail.trees.log.tree import Tree, TreeBuilder

Tell = Callable[..., Any]


# --- lines ---


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 10, ("",)),
        ("   \n ", 10, ("",)),
        ("one", 10, ("one",)),
        ("ice is cold", 12, ("ice is cold",)),
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


def labels(drawing: Layout) -> dict[str, str]:
    return {id: place.text for id, place in drawing.places.items()}


def test_parents_stand_over_the_middle_of_their_premises(tell: Tell) -> None:
    story = tell("h")
    for text in ("a", "b", "c"):
        story.ann(Write(node="n1", text=text))
    story.ann(Conclude(node="n1", premises=("n2", "n3"), text="d"))
    places = layout(story.tree).places
    assert list(places) == ["n1", "n5", "n2", "n3", "n4"]
    assert places["n1"].x == (places["n5"].x + places["n4"].x) / 2
    assert places["n5"].x == (places["n2"].x + places["n3"].x) / 2
    assert places["n3"].left - places["n2"].right == SIBLING_GAP
    assert [places[id].layer for id in ("n1", "n5", "n4", "n2", "n3")] == [0, 1, 1, 2, 2]
    assert places["n5"].top == places["n4"].top == places["n1"].bottom + LAYER_GAP
    assert [place.kind for place in places.values()] == ["hypothesis", "intermediate", *["premise"] * 3]


def test_nothing_below_a_collapsed_node_is_drawn_and_it_says_how_much(tell: Tell) -> None:
    story = tell("h")
    story.ann(Write(node="n1", text="a"))
    story.ann(Write(node="n2", text="b"))
    story.ann(Write(node="n3", text="c"))
    story.ann(Reject(node="n2", premise=Premise("r")))
    drawing = layout(story.tree, collapsed={"n2", "gone"}, with_rejected=True)
    assert labels(drawing) == {"n1": "h", "n2": "a"}
    assert (drawing.places["n2"].hidden, drawing.places["n1"].hidden) == (2, 0)
    everything = layout(story.tree, collapsed=["n1", "n3"])
    assert labels(everything) == {"n1": "h"}
    assert everything.places["n1"].hidden == 3


def test_rejected_premises_stand_right_of_the_premises_when_asked(tell: Tell) -> None:
    story = tell("h")
    story.ann(Reject(node="n1", premise=Premise("r")))
    story.ann(Accept(node="n1", premise=Premise("a")))
    story.ann(Reject(node="n3", premise=Premise("s")))
    tree = story.tree
    assert labels(layout(tree)) == {"n1": "h", "n3": "a"}
    places = layout(tree, with_rejected=True).places
    r, s = rejected_id("n1", Premise("r").key), rejected_id("n3", Premise("s").key)
    assert set(places) == {"n1", "n3", r, s}
    assert (places[r].kind, places[r].parent, places[r].layer) == ("rejected", "n1", 1)
    assert (places[s].parent, places[s].layer) == ("n3", 2)
    assert places[r].left >= places["n3"].right + SIBLING_GAP


def test_loose_trees_stand_to_the_right_from_the_first_layer_on() -> None:
    nodes = (
        GivenNode("a", -1),
        GivenNode("loose", None),
        GivenNode("below", 1),
        GivenNode("loose too", None),
    )
    places = layout(grow(Create(hypothesis="h", nodes=nodes))).places
    assert [(p.text, p.layer, p.parent) for p in places.values()] == [
        ("h", 0, None),
        ("a", 1, "n1"),
        ("loose", 1, None),
        ("below", 2, "n1.2"),
        ("loose too", 1, None),
    ]
    assert places["n1.2"].left == max(places["n1"].right, places["n1.1"].right) + LOOSE_GAP
    assert places["n1.4"].left == max(places["n1.2"].right, places["n1.3"].right) + LOOSE_GAP


def test_long_texts_make_wider_boxes_and_can_be_cut() -> None:
    def box(text: str, **options: Any) -> Any:
        return layout(grow(Create(hypothesis="h", nodes=(GivenNode(text, -1),))), **options).places["n1.1"]

    short, long, huge = box("word " * 20), box("word " * 120), box("word " * 3000)
    assert short.width < long.width < huge.width
    assert all(columns_of(line) <= NARROW for line in short.lines)
    assert max(columns_of(line) for line in huge.lines) <= WIDE
    assert " ".join(huge.lines) == ("word " * 3000).strip()
    cut = box("word " * 120, max_lines=3)
    assert len(cut.lines) == 3
    assert cut.lines[-1].endswith("…")
    assert cut.text == "word " * 120
    assert cut.height < long.height
    assert box("few words", max_lines=1).lines == ("few words",)


def test_the_corners_of_a_text_lie_inside_the_ellipse() -> None:
    for words in (1, 3, 6, 40, 400):
        place = layout(grow(Create(hypothesis="word " * words))).places["n1"]
        half_width = max(columns_of(line) for line in place.lines) * 0.6 * appearance.FONT_SIZE / 2
        half_height = len(place.lines) * appearance.LINE_HEIGHT / 2
        assert (half_width / (place.width / 2)) ** 2 + (half_height / (place.height / 2)) ** 2 <= 1


def test_a_chain_of_thousands_and_a_fan_of_thousands_are_laid_out() -> None:
    chain = grow(Create(hypothesis="h", nodes=tuple(GivenNode(f"t{i}", i - 1) for i in range(3000))))
    fan = grow(Create(hypothesis="h", nodes=tuple(GivenNode(f"t{i}", -1) for i in range(3000))))
    assert layout(chain).places["n1.3000"].layer == 3000
    assert len({place.x for place in layout(fan).places.values()}) >= 3000


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


@given(trees(), st.booleans())
def test_layers_gaps_and_middles(tree: Tree, with_rejected: bool) -> None:
    drawing = layout(tree, with_rejected=with_rejected)
    places = [*drawing.places.values()]
    rows = {
        layer: [p for p in places if p.layer == layer] for layer in range(max(p.layer for p in places) + 1)
    }
    for row in rows.values():
        for left, right in pairwise(sorted(row, key=lambda p: p.left)):
            assert right.left - left.right >= SIBLING_GAP - 1e-6
    for upper, lower in pairwise(rows.values()):
        bottom = max(p.bottom for p in upper)
        assert all(abs(p.top - bottom - LAYER_GAP) < 1e-6 for p in lower)
    for place in places:
        assert place.parent is None or place.layer == drawing.places[place.parent].layer + 1
    for node in tree.nodes.values():
        below = [place.x for place in places if place.parent == node.id]
        assert [drawing.places[child].x for child in node.children] == sorted(below)[: len(node.children)]
        if below:
            assert abs(drawing.places[node.id].x - (min(below) + max(below)) / 2) < 1e-6


@given(trees())
def test_the_same_tree_gives_the_same_places_with_the_hypothesis_at_the_origin(tree: Tree) -> None:
    drawing = layout(tree, with_rejected=True)
    again = layout(TreeBuilder(tree).freeze(seq=99), with_rejected=True)
    assert [*drawing.places.items()] == [*again.places.items()]
    assert (drawing.places["n1"].x, drawing.places["n1"].top) == (0, 0)
    assert drawing.edges == tuple((p.parent, id) for id, p in drawing.places.items() if p.parent)


@given(trees(), st.data())
def test_one_more_leaf_moves_nobody_past_anybody(tree: Tree, data: st.DataObject) -> None:
    builder = TreeBuilder(tree)
    parent = data.draw(st.sampled_from([*tree.nodes]))
    builder.apply(Write(node=parent, text="one more"), seq=50, author="Ann")
    before, after = layout(tree).places, layout(builder.freeze(seq=50)).places
    for layer in {place.layer for place in before.values()}:
        ids = [id for id in before if before[id].layer == layer]
        assert sorted(ids, key=lambda id: after[id].x) == sorted(ids, key=lambda id: before[id].x)
