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
NEW = {("node", "n9"), ("text", "n9"), ("parent", "n9"), ("children", "n9")}


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


@pytest.mark.parametrize(
    ("act", "reads", "writes"),
    [
        (
            Accept(node="n3", premise=FIRE),
            {("node", "n3"), ("text", "n3"), ("judgement", "n3", FIRE.key)},
            {("judgement", "n3", FIRE.key), ("judged", "n3"), ("children", "n3")} | NEW,
        ),
        (
            Reject(node="n3", premise=FIRE),
            {("node", "n3"), ("text", "n3"), ("judgement", "n3", FIRE.key)},
            {("judgement", "n3", FIRE.key), ("judged", "n3")},
        ),
        (
            Finish(node="n3", premises=(FIRE,)),
            {("node", "n3"), ("text", "n3"), ("judgement", "n3", FIRE.key)},
            {("judgement", "n3", FIRE.key), ("judged", "n3"), ("finished", "n3")},
        ),
        (Write(node="n3", text="x"), {("node", "n3"), ("text", "n3")}, {("children", "n3")} | NEW),
        (
            Conclude(node=ROOT, premises=("n3",), text="x"),
            {("node", ROOT), ("text", ROOT), ("node", "n3"), ("text", "n3"), ("parent", "n3")},
            {("children", ROOT), ("parent", "n3")} | NEW,
        ),
        (Edit(node="n3", text="x"), {("node", "n3"), ("text", "n3")}, {("text", "n3")}),
        (
            Reorder(node=ROOT, order=("n3", "n2")),
            {("node", ROOT), ("children", ROOT)},
            {("children", ROOT)},
        ),
        (
            Move(node="n3", parent="n2"),
            {
                ("node", "n3"),
                ("parent", "n3"),
                ("node", "n2"),
                ("parent", "n2"),
                ("node", ROOT),
                ("parent", ROOT),
            },
            {("parent", "n3"), ("children", "n2"), ("children", ROOT)},
        ),
        (
            Move(node="n4", parent=ROOT),
            {
                ("node", "n4"),
                ("parent", "n4"),
                ("node", ROOT),
                ("parent", ROOT),
                ("judgement", ROOT, ICE.key),
            },
            {("parent", "n4"), ("children", "n2"), ("children", ROOT), ("judgement", ROOT, ICE.key)},
        ),
        (
            Remove(node="n3"),
            {(what, "n3") for what in ("node", "text", "parent", "children", "judged")} | {("node", ROOT)},
            {("node", "n3"), ("children", "n3"), ("children", ROOT)},
        ),
        (
            Remove(node="n2"),
            {(w, n) for w in ("node", "text", "parent", "children", "judged") for n in ("n2", "n4", "n5")}
            | {("node", ROOT)},
            {("node", "n2"), ("node", "n4"), ("node", "n5"), ("children", "n2"), ("children", ROOT)}
            | {("judgement", "n2", ICE.key)},
        ),
        (
            Remove(node="n2", keep_premises=True),
            {(what, "n2") for what in ("node", "text", "parent", "children", "judged")}
            | {("node", ROOT), ("node", "n4"), ("parent", "n4"), ("node", "n5"), ("parent", "n5")}
            | {("judgement", ROOT, ICE.key)},
            {("node", "n2"), ("children", "n2"), ("children", ROOT), ("parent", "n4"), ("parent", "n5")}
            | {("judgement", "n2", ICE.key), ("judgement", ROOT, ICE.key)},
        ),
    ],
    ids=lambda value: value.kind if hasattr(value, "kind") else "",
)
def test_footprints(tree: Tree, act: Any, reads: set[Any], writes: set[Any]) -> None:
    found = footprint(tree, act, seq=9)
    assert found.reads == reads
    assert found.writes == writes


def test_a_beginning_writes_all_that_it_makes() -> None:
    found = footprint(Tree({}), Create(hypothesis="h", nodes=(GivenNode("a", -1),)), seq=1)
    assert found.reads == set()
    assert found.writes == {(w, n) for w in ("node", "text", "parent", "children") for n in (ROOT, "n1.1")}


def test_removing_a_premise_ends_the_acceptance_it_came_by(tree: Tree) -> None:
    assert ("judgement", "n2", ICE.key) in footprint(tree, Remove(node="n4"), seq=9).writes


def test_a_loose_node_has_no_place_to_be_taken_from(story: Any, tell: Any) -> None:
    loose = tell(nodes=(GivenNode("a", None),)).history.tree
    assert footprint(loose, Remove(node="n1.1"), seq=9).writes == {("node", "n1.1"), ("children", "n1.1")}
    moved = footprint(loose, Move(node="n1.1", parent=ROOT), seq=9)
    assert moved.writes == {("parent", "n1.1"), ("children", ROOT)}
