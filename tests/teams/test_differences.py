"""Agreed trees and differences, over random copies of random trees."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entail.data.text import premise_key
from entail.teams.differences import Leaves, consensus, differences, merge, take_whole
from entail.teams.shapes import Shape
from entail.trees.log.acts import Act, Conclude, Create, GivenNode, Remove
from entail.trees.log.rules import check, check_create
from entail.trees.log.tree import ROOT, Tree, TreeBuilder

Nested = str | tuple["Nested", ...]


def tree_of(*children: Nested, wording: str = "so") -> Tree:
    """Return a tree of nested tuples: a text is a premise, a tuple a conclusion from what it holds."""
    nodes: list[GivenNode] = []

    def add(child: Nested, parent: int) -> str:
        at = len(nodes)
        if isinstance(child, str):
            nodes.append(GivenNode(child, parent, key=premise_key(child)))
            return child
        nodes.append(GivenNode("", parent))
        texts = [add(below, at) for below in child]
        nodes[at] = GivenNode(f"{wording} {' '.join(texts)}", parent)
        return nodes[at].text

    for child in children:
        add(child, -1)
    return created(Create(hypothesis="the claim", nodes=tuple(nodes)))


def created(act: Create) -> Tree:
    check_create(act)
    return applied(Tree({}), [act])


def applied(tree: Tree, acts: Sequence[Act]) -> Tree:
    builder, seq = TreeBuilder(tree), tree.seq
    for act in acts:
        if not isinstance(act, Create):
            check(builder.peek(), act)
        seq += 1
        builder.apply(act, seq=seq, author="Rita")
    return builder.freeze(seq=seq)


def drawing(tree: Tree, node: str = ROOT) -> Nested:
    """Return the nested tuples of a tree, sorted."""
    children = tree.nodes[node].children
    below = [
        drawing(tree, child) if tree.nodes[child].children else tree.nodes[child].text for child in children
    ]
    return tuple(sorted(below, key=str))


@pytest.mark.parametrize(
    ("copies", "majority", "agreed"),
    [
        ([("a", "b", ("c", "d"))], False, ("a", "b", ("c", "d"))),
        ([("a", ("b", "c")), (("b", "c"), "a")], False, ("a", ("b", "c"))),
        ([("a", ("b", "c")), ("a", "b", "c")], False, ("a", "b", "c")),
        ([("a", ("b", "c", "x")), ("a", "y", ("b", "c"))], False, ("a", ("b", "c"))),
        ([("a", ("b", "c"), "d"), ("c", ("a", "b"), "d")], False, ("a", "b", "c", "d")),
        ([("a", ("b", ("c", "d"))), ("a", ("b", "c", "d"))], False, ("a", ("b", "c", "d"))),
        ([("a", "b"), ("c", "d")], False, ()),
        ([("a", "b"), ()], False, ()),
        ([("a", ("b", "c")), ("a", ("b", "c")), ("d", "a", "b")], True, ("a", ("b", "c"))),
        ([(("a", "b"), "x"), (("b", "a"), "c", "x"), ("x", "a", ("c", "b"))], True, (("a", "b"), "c", "x")),
        ([("a", "x"), ("b", ("a", "c"), "x"), ("x", ("b", "a", "c"))], True, ("a", "b", "c", "x")),
        ([("a", "b"), ("a", "c")], True, ("a",)),
    ],
)
def test_what_all_or_most_copies_agree_on(
    copies: list[tuple[Nested, ...]], majority: bool, agreed: Nested
) -> None:
    trees = [tree_of(*copy) for copy in copies]
    for order in (trees, trees[::-1]):
        assert drawing(merge(order, majority=majority)) == tuple(sorted(agreed, key=str))
        assert drawing(merge(order)) == drawing(created(consensus(order)))


def test_the_usual_wording_is_agreed_and_others_are_offered() -> None:
    copies = [tree_of("a", ("b", "c"), wording=wording) for wording in ("so", "hence", "hence")]
    agreed = created(consensus(copies))
    assert [node.text for node in Leaves(agreed).conclusions] == ["hence b c"]
    (difference,) = differences(agreed, copies)
    assert (difference.kind, difference.text, set(difference.copies)) == ("wording", "so b c", {0})
    assert not differences(applied(agreed, difference.acts), copies[:1])


def take(agreed: Tree, copies: Sequence[Tree], text: str) -> Tree:
    """Return the agreed tree with the difference of this text."""
    return applied(agreed, next(d for d in differences(agreed, copies) if d.text == text).acts)


def test_differences_are_taken_at_their_places() -> None:
    first, other = tree_of("a", ("b", "c", "x"), ("d", "e")), tree_of("a", "y", ("b", "c"), ("c2", "e"), "d")
    agreed = created(consensus([first, other]))
    assert drawing(agreed) == (("b", "c"), "a", "d", "e")
    holders = {(d.kind, d.text): set(d.copies) for d in differences(agreed, [first, other])}
    assert holders == {
        ("premise", "x"): {0},
        ("conclusion", "so d e"): {0},
        ("premise", "y"): {1},
        ("premise", "c2"): {1},
        ("wording", "so b c"): {1},  # that of the first copy was taken
    }
    agreed = take(agreed, [first, other], "x")
    assert drawing(agreed) == (("b", "c", "x"), "a", "d", "e"), "below the conclusion that has its siblings"
    agreed = take(agreed, [first, other], "so d e")
    assert drawing(agreed) == (("b", "c", "x"), ("d", "e"), "a")


def test_a_conclusion_that_crosses_others_replaces_them() -> None:
    first, other = tree_of("a", "b", ("c", "d"), "e"), tree_of("a", ("b", "c"), "d", "e")
    (difference,) = differences(first, [other])
    assert difference.kind == "conclusion"
    assert [type(act) for act in difference.acts] == [Remove, Conclude]
    assert difference.replaces == (Leaves(first).conclusions[0].id,)
    assert drawing(applied(first, difference.acts)) == drawing(other)


@st.composite
def nested(draw: st.DrawFn, leaves: str = "abcdefgh") -> tuple[Nested, ...]:
    """Draw a tree over some of the leaves."""
    rows: list[Nested] = draw(st.lists(st.sampled_from(leaves), unique=True, min_size=1))
    for _ in range(draw(st.integers(0, 4))):
        size = draw(st.integers(2, 3))
        if len(rows) > size:
            at = draw(st.integers(0, len(rows) - size))
            rows[at : at + size] = [tuple(rows[at : at + size])]
    return tuple(draw(st.permutations(rows)))


@settings(max_examples=150, deadline=None)
@given(nested(), nested(), nested())
def test_taking_all_of_a_copy_ends_with_all_that_it_has(
    first: tuple[Nested, ...], second: tuple[Nested, ...], third: tuple[Nested, ...]
) -> None:
    trees = [tree_of(*copy) for copy in (first, second, third)]
    agreed = created(consensus(trees))
    steps = 0
    while rest := differences(agreed, trees[:1]):
        agreed = applied(agreed, rest[0].acts)
        steps += 1
        assert steps < 50, "it ends"
    own, copy = Leaves(agreed), Leaves(trees[0])
    assert own.all >= copy.all
    within = {own.of[node.id] & copy.all for node in own.conclusions}
    assert {copy.of[node.id] for node in copy.conclusions} <= within
    assert all(len(difference.acts) for difference in differences(agreed, trees))


@settings(max_examples=100, deadline=None)
@given(nested())
def test_equal_copies_agree_on_all(copy: tuple[Nested, ...]) -> None:
    trees = [tree_of(*copy), tree_of(*reversed(copy))]
    agreed = created(consensus(trees))
    assert not differences(agreed, trees)
    assert Shape.of_tree(agreed) == Shape.of_tree(trees[0])


@settings(max_examples=100, deadline=None)
@given(nested(), nested(), nested())
def test_a_whole_copy_takes_the_place_of_the_agreed_tree(
    first: tuple[Nested, ...], second: tuple[Nested, ...], third: tuple[Nested, ...]
) -> None:
    trees = [tree_of(*copy, wording=wording) for copy, wording in ((first, "so"), (second, "hence"))]
    agreed = created(consensus([*trees, tree_of(*third)]))
    result = applied(agreed, take_whole(agreed, trees[1]))
    assert Shape.of_tree(result) == Shape.of_tree(trees[1])
    assert not differences(result, trees[1:])


def test_taking_a_copy_with_a_conclusion_twice_ends() -> None:
    touch: Nested = (("a", "b", "c"), "m", "t")
    copy = tree_of(("hot", touch), ("cold", touch))
    agreed = tree_of("t", (("a", "b", "c"), "m"), "cold")
    acts = take_whole(agreed, copy)
    assert Leaves(applied(agreed, acts)).all == Leaves(copy).all
    assert len(acts) < 2 * len(copy.nodes)


@settings(max_examples=60, deadline=None)
@given(nested("abcd"), nested("abce"), nested("abf"))
def test_copies_that_use_a_premise_twice_agree_with_themselves(
    first: tuple[Nested, ...], second: tuple[Nested, ...], third: tuple[Nested, ...]
) -> None:
    copy = ((*first, "x"), (*second, "y"), third)
    trees = [tree_of(*copy), tree_of(*reversed(copy))]
    agreed = created(consensus(trees))
    assert Leaves(agreed).all == Leaves(trees[0]).all
    result = applied(agreed, take_whole(agreed, trees[0]))
    assert not differences(result, trees)
    assert Shape.of_tree(result).clades == Shape.of_tree(trees[0]).clades
