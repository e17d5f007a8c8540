"""What acts rest on and change."""

from __future__ import annotations

from typing import Any

import pytest

from entail.data.records import Premise
from entail.trees.log.acts import (
    Accept,
    Conclude,
    Create,
    Edit,
    Finish,
    GivenNode,
    Move,
    Reject,
    Remove,
    Reorder,
    Write,
)
from entail.trees.log.rules import footprint
from entail.trees.log.tree import ROOT, Tree

ICE, FIRE = Premise("ice is cold"), Premise("fire is hot")


@pytest.fixture
def tree(story: Any) -> Tree:
    """Return n1 over (n2 over n4 = ice, n5), n3; ice is rejected for n1."""
    story.ann(Write(node=ROOT, text="two"))
    story.ann(Write(node=ROOT, text="three"))
    story.ann(Accept(node="n2", premise=ICE))
    story.ann(Write(node="n2", text="five"))
    story.ann(Reject(node=ROOT, premise=ICE))
    found: Tree = story.history.tree
    return found


def facts(text: str, *more: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Read facts such as `n3 text children, n1 node`."""
    words = [part.split() for part in text.split(",")]
    return {(what, node) for node, *aspects in words for what in aspects} | set(more)


FIRE3, ICE1, ICE2 = ("judgement", "n3", FIRE.key), ("judgement", ROOT, ICE.key), ("judgement", "n2", ICE.key)
ALL = "node text parent children judged"


@pytest.mark.parametrize(
    ("act", "reads", "writes"),
    [
        (
            Accept(node="n3", premise=FIRE),
            facts("n3 node text", FIRE3),
            facts("n3 judged children, n9 node text parent children", FIRE3),
        ),
        (Reject(node="n3", premise=FIRE), facts("n3 node text", FIRE3), facts("n3 judged", FIRE3)),
        (
            Finish(node="n3", premises=(FIRE,)),
            facts("n3 node text", FIRE3),
            facts("n3 judged finished", FIRE3),
        ),
        (
            Write(node="n3", text="x"),
            facts("n3 node text"),
            facts("n3 children, n9 node text parent children"),
        ),
        (
            Conclude(node=ROOT, premises=("n3",), text="x"),
            facts("n1 node text, n3 node text parent"),
            facts("n1 children, n3 parent, n9 node text parent children"),
        ),
        (Edit(node="n3", text="x"), facts("n3 node text"), facts("n3 text")),
        (Reorder(node=ROOT, order=("n3", "n2")), facts("n1 node children"), facts("n1 children")),
        (
            Move(node="n3", parent="n2"),
            facts("n3 node parent, n2 node parent, n1 node parent"),
            facts("n3 parent, n2 children, n1 children"),
        ),
        (
            Move(node="n4", parent=ROOT),
            facts("n4 node parent, n1 node parent", ICE1),
            facts("n4 parent, n2 children, n1 children", ICE1),
        ),
        (Remove(node="n3"), facts(f"n3 {ALL}, n1 node"), facts("n3 node children, n1 children")),
        (
            Remove(node="n2"),
            facts(f"n2 {ALL}, n4 {ALL}, n5 {ALL}, n1 node"),
            facts("n2 node children, n4 node, n5 node, n1 children", ICE2),
        ),
        (
            Remove(node="n2", keep_premises=True),
            facts(f"n2 {ALL}, n1 node, n4 node parent, n5 node parent", ICE1),
            facts("n2 node children, n1 children, n4 parent, n5 parent", ICE1, ICE2),
        ),
        (Remove(node="n4"), facts(f"n4 {ALL}, n2 node"), facts("n4 node children, n2 children", ICE2)),
    ],
    ids=lambda value: value.kind if hasattr(value, "kind") else "",
)
def test_footprints(tree: Tree, act: Any, reads: set[Any], writes: set[Any]) -> None:
    found = footprint(tree, act, seq=9)
    assert (found.reads, found.writes) == (reads, writes)


def test_a_new_tree_writes_all_its_nodes() -> None:
    found = footprint(Tree({}), Create(hypothesis="h", nodes=(GivenNode("a", -1),)), seq=1)
    assert (found.reads, found.writes) == (
        set(),
        facts("n1 node text parent children, n1.1 node text parent children"),
    )


def test_a_loose_node_has_no_place_to_be_taken_from(story: Any, tell: Any) -> None:
    loose = tell(nodes=(GivenNode("a", None),)).history.tree
    assert footprint(loose, Remove(node="n1.1"), seq=9).writes == {("node", "n1.1"), ("children", "n1.1")}
    moved = footprint(loose, Move(node="n1.1", parent=ROOT), seq=9)
    assert moved.writes == {("parent", "n1.1"), ("children", ROOT)}
