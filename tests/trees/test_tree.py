"""Acts: their effects on a tree, their rules, and their footprints."""

from typing import Any

import pytest

from entail.data.records import Premise
from entail.data.text import premise_key
from entail.errors import ActError
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
from entail.trees.log.replay import replay
from entail.trees.log.rules import LONGEST_SENTENCE, check_create, footprint
from entail.trees.log.tree import ROOT, Judgement, Node, Tree
from tests.trees.conftest import FIRE, ICE, SNOW, Story, event

IMPORTED = (
    GivenNode("a", -1, "int1"),
    GivenNode("b", 0, "sent1", premise_key("b")),
    GivenNode("c", -1, "sent2"),
    GivenNode("d", None, "int2"),
    GivenNode("e", 3, "sent3"),
)


def test_accept_hangs_the_premise_below_and_an_edit_keeps_its_key_while_it_is_the_same(story: Any) -> None:
    node = story.ann(Accept(node=ROOT, premise=ICE))
    tree = story.tree
    assert tree.node("n2") == Node("n2", "ice is cold", ROOT, (), "accept", "Ann", 2, key=ICE.key)
    assert tree.root.children == ("n2",)
    assert tree.judgements[ROOT, ICE.key] == Judgement(ICE, True, "Ann", 2, "snow melts in spring")
    for text, key in (("ice  is cold", ICE.key), ("ice is very cold", None)):
        story.ann(Edit(node=node, text=text))
        assert (story.tree.node(node).key, story.tree.node(node).text) == (key, text)


def test_finish_rejects_what_was_not_judged_before(story: Any) -> None:
    story.ann(Reject(node=ROOT, premise=ICE))
    story.bob(Finish(node=ROOT, premises=(ICE, FIRE)))
    tree = story.tree
    assert (tree.finished, list(tree.nodes)) == ({ROOT: 3}, [ROOT])
    assert tree.rejected(ROOT) == (ICE, FIRE)
    assert [tree.judgements[ROOT, p.key].author for p in (ICE, FIRE)] == ["Ann", "Bob"]


A, B, C = (Write(node=ROOT, text=text) for text in "abc")
BOTH = Conclude(node=ROOT, premises=("n2", "n3"), text="both")


@pytest.mark.parametrize(
    ("acts", "outline"),
    [
        (
            [A, B, C, Conclude(node=ROOT, premises=("n4", "n2"), text="both")],
            [". both", ".. a", ".. c", ". b"],
        ),
        (
            [A, B, C, BOTH, Reject(node="n5", premise=ICE), Remove(node="n5", keep_premises=True)],
            [". a", ". b", ". c"],
        ),
        (
            [A, B, Write(node="n2", text="x"), Write(node="n3", text="y"), Move(node="n2", parent="n3")],
            [". b", ".. y", ".. a", "... x"],
        ),
    ],
    ids=["conclude", "remove one", "move"],
)
def test_effects(story: Any, acts: list[Any], outline: list[str]) -> None:
    for act in acts:
        story.ann(act)
    dots = ["." * len(story.tree.ancestors(node.id)) for node in story.tree.walk()]
    texts = [f"{dot} {node.text}" for dot, node in zip(dots, story.tree.walk(), strict=True)]
    assert texts[1:] == outline
    assert not story.tree.judgements
    assert not story.tree.finished


def test_a_later_judgement_outlives_the_node_of_an_earlier_one_and_is_withdrawn_by_a_move(story: Any) -> None:
    a = story.ann(A)
    accepted = story.ann(Accept(node=ROOT, premise=ICE))
    story.ann(Move(node=accepted, parent=a))
    story.ann(Reject(node=ROOT, premise=ICE))
    for act in (Move(node=accepted, parent=ROOT), Remove(node=a, keep_premises=True)):
        story.ann(act)
        assert story.tree.rejected(ROOT) == ()
        story.undo()
    story.ann(Remove(node=accepted))
    assert story.tree.rejected(ROOT) == (ICE,)


def test_acts_on_an_imported_structure() -> None:
    story = Story(nodes=IMPORTED, source={"id": "row"})
    assert story.outline == ["snow melts in spring", "  a", "    b", "  c"]
    assert (story.tree.loose, story.tree.source) == (("n1.4",), {"id": "row"})
    assert (story.tree.node("n1.2").label, story.tree.node("n1.2").key) == ("sent1", premise_key("b"))
    conclusion = story.ann(Conclude(node=ROOT, premises=("n1.1", "n1.3"), text="a and c"))
    story.ann(Move(node="n1.4", parent=conclusion))
    assert story.outline[1:] == ["  a and c", "    a", "      b", "    c", "    d", "      e"]
    assert story.tree.loose == ()
    story.undo()
    story.ann(Remove(node="n1.4", keep_premises=True))
    assert story.tree.loose == ("n1.5",)
    story.ann(Remove(node="n1.5"))
    assert [node.id for node in story.tree.walk()] == [ROOT, conclusion, "n1.1", "n1.2", "n1.3"]


@pytest.mark.parametrize(
    "act",
    [
        Create(hypothesis="x"),
        Write(node="n9", text="x"),
        Finish(node="n9", premises=()),
        Remove(node="n9"),
        Reorder(node="n9", order=()),
        Move(node="n2", parent="n9"),
        Write(node=ROOT, text=" \n "),
        Write(node=ROOT, text="a\0b"),
        Write(node=ROOT, text="a\ud800b"),
        Write(node=ROOT, text="x" * (LONGEST_SENTENCE + 1)),
        Accept(node=ROOT, premise=Premise("")),
        Reject(node=ROOT, premise=Premise("a\0")),
        Finish(node=ROOT, premises=(Premise("\ud800"),)),
        Write(node=ROOT, text="snow melts  in spring"),
        Write(node="n4", text="two"),
        Write(node=ROOT, text="two"),
        Edit(node="n2", text="two"),
        Move(node="n2", parent="n2"),
        Move(node="n2", parent="n4"),
        Accept(node="n4", premise=Premise("snow melts in spring")),
        Accept(node=ROOT, premise=Premise("ice is cold")),
        Reject(node=ROOT, premise=ICE),
        Finish(node=ROOT, premises=(FIRE, ICE)),
        Reject(node=ROOT, premise=SNOW),
        Conclude(node=ROOT, premises=(), text="x"),
        Conclude(node=ROOT, premises=("n2", "n2"), text="x"),
        Conclude(node=ROOT, premises=("n4",), text="x"),
        Conclude(node=ROOT, premises=("n2",), text="four"),
        Conclude(node=ROOT, premises=("n2",), text="two"),
        Conclude(node=ROOT, premises=("n2",), text="ice is cold"),
        Edit(node="n4", text="two"),
        Edit(node="n2", text="four"),
        Edit(node="n2", text="ice is cold"),
        Edit(node="n2", text=" "),
        Remove(node=ROOT),
        Remove(node="n2", keep_premises=True),
        Reorder(node=ROOT, order=("n2", "n3")),
        Reorder(node=ROOT, order=("n2", "n3", "n6")),
        Move(node=ROOT, parent="n2"),
        Move(node="n2", parent=ROOT),
        Move(node="n5", parent=ROOT),
        Move(node="n2", parent="n3"),
    ],
)
def test_acts_that_make_no_sense_are_refused(story: Any, act: Any) -> None:
    for node, text in ((ROOT, "two"), (ROOT, "three"), ("n2", "four"), ("n2", "three")):  # n2 to n5
        story.ann(Write(node=node, text=text))
    assert story.ann(Accept(node=ROOT, premise=ICE)) == "n6"
    story.ann(Reject(node=ROOT, premise=SNOW))
    with pytest.raises(ActError):
        story.ann(act)


@pytest.mark.parametrize(
    "act",
    [
        Create(hypothesis=" "),
        Create(hypothesis="x" * (LONGEST_SENTENCE + 1)),
        Create(hypothesis="h", nodes=(GivenNode("", -1),)),
        Create(hypothesis="h", nodes=(GivenNode("a", 0),)),
        Create(hypothesis="h", nodes=(GivenNode("a", 1), GivenNode("b", -1))),
        Create(hypothesis="h", nodes=(GivenNode("a", -2),)),
        Create(hypothesis="h", nodes=(GivenNode("a", -1, key="wrong"),)),
        Create(hypothesis="h", nodes=(GivenNode("h", -1),)),
        Create(hypothesis="h", nodes=(GivenNode("a", -1), GivenNode(" a", 0))),
        Create(hypothesis="h", source={"x": float("nan")}),
        Create(hypothesis="h", source={"x": object()}),
    ],
)
def test_a_tree_cannot_begin_so(act: Create) -> None:
    with pytest.raises(ActError):
        check_create(act)


def facts(text: str) -> set[tuple[str, ...]]:
    """Read facts such as `n3 text children ice, n1 node`: aspects of nodes, and judgements of premises."""
    keys = {"ice": ICE.key, "fire": FIRE.key}
    pairs = [(node, aspect) for node, *aspects in map(str.split, text.split(",")) for aspect in aspects]
    return {("judgement", node, keys[aspect]) if aspect in keys else (aspect, node) for node, aspect in pairs}


ALL, NEW = "node text parent children judged", "n9 node text parent children"


@pytest.mark.parametrize(
    ("act", "reads", "writes"),
    [
        (Accept(node="n3", premise=FIRE), "n3 node text fire", f"n3 judged children fire, {NEW}"),
        (Reject(node="n3", premise=FIRE), "n3 node text fire", "n3 judged fire"),
        (Finish(node="n3", premises=(FIRE,)), "n3 node text fire", "n3 judged finished fire"),
        (Write(node="n3", text="x"), "n3 node text", f"n3 children, {NEW}"),
        (
            Conclude(node=ROOT, premises=("n3",), text="x"),
            "n1 node text, n3 node text parent",
            f"n1 children, n3 parent, {NEW}",
        ),
        (Edit(node="n3", text="x"), "n3 node text", "n3 text"),
        (Reorder(node=ROOT, order=("n3", "n2")), "n1 node children", "n1 children"),
        (
            Move(node="n3", parent="n2"),
            "n3 node parent, n2 node parent, n1 node parent",
            "n3 parent, n2 children, n1 children",
        ),
        (
            Move(node="n4", parent=ROOT),
            "n4 node parent, n1 node parent ice",
            "n4 parent, n2 children, n1 children ice",
        ),
        (Remove(node="n3"), f"n3 {ALL}, n1 node", "n3 node children, n1 children"),
        (
            Remove(node="n2"),
            f"n2 {ALL}, n4 {ALL}, n5 {ALL}, n1 node",
            "n2 node children ice, n4 node, n5 node, n1 children",
        ),
        (
            Remove(node="n2", keep_premises=True),
            f"n2 {ALL}, n1 node ice, n4 node parent, n5 node parent",
            "n2 node children ice, n1 children ice, n4 parent, n5 parent",
        ),
        (Remove(node="n4"), f"n4 {ALL}, n2 node", "n4 node children, n2 children ice"),
    ],
    ids=lambda value: value.kind if hasattr(value, "kind") else "",
)
def test_footprints(story: Any, act: Any, reads: str, writes: str) -> None:
    """Of n1 over (n2 over n4 = ice, n5), n3; ice is rejected for n1."""
    for node, text in ((ROOT, "two"), (ROOT, "three")):
        story.ann(Write(node=node, text=text))
    story.ann(Accept(node="n2", premise=ICE))
    story.ann(Write(node="n2", text="five"))
    story.ann(Reject(node=ROOT, premise=ICE))
    accesses = footprint(story.tree, act, seq=9)
    assert (accesses.reads, accesses.writes) == (facts(reads), facts(writes))


def test_footprints_of_a_new_tree_and_of_a_loose_node() -> None:
    accesses = footprint(Tree({}), Create(hypothesis="h", nodes=(GivenNode("a", -1),)), seq=1)
    assert accesses.reads == set()
    assert accesses.writes == facts("n1 node text parent children, n1.1 node text parent children")
    loose = Story(nodes=(GivenNode("a", None),)).tree
    assert footprint(loose, Remove(node="n1.1"), seq=9).writes == facts("n1.1 node children")
    assert footprint(loose, Move(node="n1.1", parent=ROOT), seq=9).writes == facts("n1.1 parent, n1 children")


def test_a_damaged_order_neither_adds_nor_loses_a_child() -> None:
    create = Create(hypothesis="h", nodes=(GivenNode("a", -1), GivenNode("b", -1)))
    order = Reorder(node=ROOT, order=("n1.2", "<script>", "n1.2"))
    assert replay([event(1, create), event(2, order)]).tree.root.children == ("n1.2", "n1.1")
