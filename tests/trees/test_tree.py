"""Acts: their effects on a tree, their rules, and their footprints."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
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
from entail.trees.log.replay import Event, replay
from entail.trees.log.rules import LONGEST_SENTENCE, check_create, footprint
from entail.trees.log.tree import ROOT, Node, Tree

ICE, FIRE, SNOW = Premise("ice is cold", "u1"), Premise("fire is hot", "u2"), Premise("snow is ice")
IMPORTED = (
    GivenNode("a", -1, "int1"),
    GivenNode("b", 0, "sent1", premise_key("b")),
    GivenNode("c", -1, "sent2"),
    GivenNode("d", None, "int2"),
    GivenNode("e", 3, "sent3"),
)


# --- what acts change ---


def test_accept_hangs_the_premise_below_and_remembers_the_judgement(story: Any) -> None:
    premise = story.ann(Accept(node=ROOT, premise=ICE))
    tree = story.tree
    assert premise == "n2"
    assert tree.node("n2") == Node("n2", "ice is cold", ROOT, (), "accept", "Ann", 2, key=ICE.key)
    assert tree.root.children == ("n2",)
    judgement = tree.judgements[ROOT, ICE.key]
    assert (judgement.accepted, judgement.author, judgement.seq) == (True, "Ann", 2)
    assert judgement.query == "snow melts in spring"
    assert judgement.premise.source_id == "u1"


def test_reject_changes_the_judgement_only(story: Any) -> None:
    story.bob(Reject(node=ROOT, premise=ICE))
    tree = story.tree
    assert list(tree.nodes) == [ROOT]
    assert tree.rejected(ROOT) == (ICE,)
    assert tree.judgements[ROOT, ICE.key].author == "Bob"


def test_finish_rejects_what_nobody_judged_before(story: Any) -> None:
    story.ann(Reject(node=ROOT, premise=ICE))
    story.bob(Finish(node=ROOT, premises=(ICE, FIRE)))
    tree = story.tree
    assert tree.finished == {ROOT: 3}
    assert tree.rejected(ROOT) == (ICE, FIRE)
    assert [tree.judgements[ROOT, p.key].author for p in (ICE, FIRE)] == ["Ann", "Bob"]


def test_conclude_takes_the_place_of_its_premises(story: Any) -> None:
    a, b, c = (story.ann(Write(node=ROOT, text=text)) for text in "abc")
    conclusion = story.ann(Conclude(node=ROOT, premises=(c, a), text="a and c"))
    assert story.outline == ["snow melts in spring", "  a and c", "    a", "    c", "  b"]
    assert story.tree.node(conclusion).kind == "intermediate"
    assert story.tree.node(b).kind == "premise"
    assert story.tree.root.kind == "hypothesis"


def test_edit_keeps_the_key_only_while_the_fact_is_the_same(story: Any) -> None:
    node = story.ann(Accept(node=ROOT, premise=ICE))
    story.ann(Edit(node=node, text="ice  is cold"))
    assert story.tree.node(node).key == ICE.key
    story.ann(Edit(node=node, text="ice is very cold"))
    assert story.tree.node(node).key is None
    assert story.tree.node(node).text == "ice is very cold"


def test_remove_takes_all_below_and_their_judgements(story: Any) -> None:
    a = story.ann(Accept(node=ROOT, premise=ICE))
    b = story.ann(Accept(node=a, premise=FIRE))
    story.ann(Reject(node=b, premise=SNOW))
    story.ann(Finish(node=b, premises=()))
    story.ann(Remove(node=a))
    tree = story.tree
    assert list(tree.nodes) == [ROOT]
    assert not tree.judgements
    assert not tree.finished


def test_remove_can_let_the_premises_take_the_place(story: Any) -> None:
    a, b, c = (story.ann(Write(node=ROOT, text=text)) for text in "abc")
    conclusion = story.ann(Conclude(node=ROOT, premises=(a, b), text="both"))
    story.ann(Reject(node=conclusion, premise=ICE))
    story.ann(Remove(node=conclusion, keep_premises=True))
    assert story.outline == ["snow melts in spring", "  a", "  b", "  c"]
    assert not story.tree.judgements
    assert c == "n4"


def test_an_acceptance_ends_when_what_it_made_is_removed_wherever_it_hangs(story: Any) -> None:
    accepted = story.ann(Accept(node=ROOT, premise=ICE))
    conclusion = story.ann(Conclude(node=ROOT, premises=(accepted,), text="it is cold"))
    assert story.tree.judgements[ROOT, ICE.key].accepted, "it still helps to explain the root"
    story.ann(Remove(node=conclusion))
    assert not story.tree.judgements


def test_a_later_judgement_outlives_the_node_of_an_earlier_one(story: Any) -> None:
    a = story.ann(Write(node=ROOT, text="a"))
    accepted = story.ann(Accept(node=ROOT, premise=ICE))
    story.ann(Move(node=accepted, parent=a))
    story.ann(Reject(node=ROOT, premise=ICE))
    story.ann(Remove(node=accepted))
    assert story.tree.rejected(ROOT) == (ICE,)


def test_move_hangs_all_below_under_another_node_as_its_last_premise(story: Any) -> None:
    a, b = (story.ann(Write(node=ROOT, text=text)) for text in "ab")
    story.ann(Write(node=a, text="below a"))
    story.ann(Write(node=b, text="below b"))
    story.ann(Move(node=a, parent=b))
    assert story.outline == ["snow melts in spring", "  b", "    below b", "    a", "      below a"]


@pytest.mark.parametrize("keep", [False, True])
def test_a_rejection_is_withdrawn_when_the_premise_is_hung_there(story: Any, keep: bool) -> None:
    a = story.ann(Write(node=ROOT, text="a"))
    accepted = story.ann(Accept(node=a, premise=ICE))
    story.ann(Reject(node=ROOT, premise=ICE))
    story.ann(Remove(node=a, keep_premises=True) if keep else Move(node=accepted, parent=ROOT))
    assert story.tree.rejected(ROOT) == ()


def test_an_imported_structure(tell: Callable[..., Any]) -> None:
    story = tell(nodes=IMPORTED, source={"id": "row"})
    tree = story.tree
    assert story.outline == ["snow melts in spring", "  a", "    b", "  c"]
    assert tree.loose == ("n1.4",)
    assert [node.text for node in tree.walk("n1.4")] == ["d", "e"]
    assert (tree.node("n1.2").label, tree.node("n1.2").key) == ("sent1", premise_key("b"))
    assert tree.source == {"id": "row"}


def test_acts_on_an_imported_structure(tell: Callable[..., Any]) -> None:
    story = tell(nodes=IMPORTED)
    conclusion = story.ann(Conclude(node=ROOT, premises=("n1.1", "n1.3"), text="a and c"))
    story.ann(Move(node="n1.4", parent=conclusion))
    assert story.outline == [
        "snow melts in spring",
        "  a and c",
        "    a",
        "      b",
        "    c",
        "    d",
        "      e",
    ]
    assert story.tree.loose == ()
    story.undo()
    story.ann(Remove(node="n1.4", keep_premises=True))
    assert story.tree.loose == ("n1.5",)
    story.ann(Remove(node="n1.5"))
    assert story.tree.loose == ()
    assert [node.id for node in story.tree.walk()] == [ROOT, conclusion, "n1.1", "n1.2", "n1.3"]


# --- when acts make no sense ---


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (Create(hypothesis="x"), "created once"),
        (Write(node="n9", text="x"), "no node n9"),
        (Finish(node="n9", premises=()), "no node n9"),
        (Remove(node="n9"), "no node n9"),
        (Reorder(node="n9", order=()), "no node n9"),
        (Move(node="n2", parent="n9"), "no node n9"),
        (Write(node=ROOT, text=" \n "), "is empty"),
        (Write(node=ROOT, text="a\0b"), "NUL"),
        (Write(node=ROOT, text="a\ud800b"), "unpaired surrogate"),
        (Write(node=ROOT, text="x" * (LONGEST_SENTENCE + 1)), "at most 10,000 characters, found 10,001"),
        (Accept(node=ROOT, premise=Premise("")), "is empty"),
        (Reject(node=ROOT, premise=Premise("a\0")), "NUL"),
        (Finish(node=ROOT, premises=(Premise("\ud800"),)), "unpaired surrogate"),
        (Write(node=ROOT, text="snow melts  in spring"), "cannot explain itself"),
        (Accept(node="n4", premise=Premise("snow melts in spring")), "cannot explain itself"),
        (Write(node="n4", text="two"), "cannot explain itself"),
        (Write(node=ROOT, text="two"), "already accepted here"),
        (Accept(node=ROOT, premise=Premise("ice is cold")), "already accepted here"),
        (Reject(node=ROOT, premise=ICE), "remove it from the tree"),
        (Finish(node=ROOT, premises=(FIRE, ICE)), "remove it from the tree"),
        (Reject(node=ROOT, premise=SNOW), "already rejected for this node"),
        (Conclude(node=ROOT, premises=(), text="x"), "at least one premise"),
        (Conclude(node=ROOT, premises=("n2", "n2"), text="x"), "expected premises of n1"),
        (Conclude(node=ROOT, premises=("n4",), text="x"), "expected premises of n1"),
        (Conclude(node=ROOT, premises=("n2",), text="four"), "cannot explain itself"),
        (Conclude(node=ROOT, premises=("n2",), text="two"), "cannot explain itself"),
        (Conclude(node=ROOT, premises=("n2",), text="ice is cold"), "already accepted here"),
        (Edit(node="n2", text="two"), "unchanged"),
        (Edit(node="n4", text="two"), "cannot explain itself"),
        (Edit(node="n2", text="four"), "cannot explain itself"),
        (Edit(node="n2", text="ice is cold"), "already accepted here"),
        (Edit(node="n2", text=" "), "is empty"),
        (Remove(node=ROOT), "hypothesis cannot be removed"),
        (Remove(node="n2", keep_premises=True), "already accepted here"),
        (Reorder(node=ROOT, order=("n2", "n3")), "expected an order of"),
        (Reorder(node=ROOT, order=("n2", "n3", "n6")), "already in this order"),
        (Move(node=ROOT, parent="n2"), "hypothesis cannot be moved"),
        (Move(node="n2", parent=ROOT), "already there"),
        (Move(node="n2", parent="n2"), "below itself"),
        (Move(node="n2", parent="n4"), "below itself"),
        (Move(node="n5", parent=ROOT), "already accepted here"),
        (Move(node="n2", parent="n3"), "above and below"),
    ],
)
def test_acts_that_make_no_sense_are_refused(story: Any, act: Any, message: str) -> None:
    assert story.ann(Write(node=ROOT, text="two")) == "n2"
    assert story.ann(Write(node=ROOT, text="three")) == "n3"
    assert story.ann(Write(node="n2", text="four")) == "n4"
    assert story.ann(Write(node="n2", text="three")) == "n5"
    assert story.ann(Accept(node=ROOT, premise=ICE)) == "n6"
    story.ann(Reject(node=ROOT, premise=SNOW))
    with pytest.raises(ActError, match=message):
        story.ann(act)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (Create(hypothesis=" "), "is empty"),
        (Create(hypothesis="x" * (LONGEST_SENTENCE + 1)), "at most 10,000"),
        (Create(hypothesis="h", nodes=(GivenNode("", -1),)), "is empty"),
        (Create(hypothesis="h", nodes=(GivenNode("a", 0),)), "given node 0: .* found 0"),
        (Create(hypothesis="h", nodes=(GivenNode("a", 1), GivenNode("b", -1))), "given node 0: .* found 1"),
        (Create(hypothesis="h", nodes=(GivenNode("a", -2),)), "given node 0: .* found -2"),
        (Create(hypothesis="h", nodes=(GivenNode("a", -1, key="wrong"),)), "key of .*'wrong'"),
        (Create(hypothesis="h", nodes=(GivenNode("h", -1),)), "is above itself"),
        (Create(hypothesis="h", nodes=(GivenNode("a", -1), GivenNode(" a", 0))), "is above itself"),
        (Create(hypothesis="h", source={"x": float("nan")}), "plain JSON"),
        (Create(hypothesis="h", source={"x": object()}), "plain JSON"),
    ],
)
def test_a_tree_cannot_begin_so(act: Create, message: str) -> None:
    with pytest.raises(ActError, match=message):
        check_create(act)


# --- footprints ---


@pytest.fixture
def tree(story: Any) -> Tree:
    """Return n1 over (n2 over n4 = ice, n5), n3; ice is rejected for n1."""
    story.ann(Write(node=ROOT, text="two"))
    story.ann(Write(node=ROOT, text="three"))
    story.ann(Accept(node="n2", premise=ICE))
    story.ann(Write(node="n2", text="five"))
    story.ann(Reject(node=ROOT, premise=ICE))
    example: Tree = story.tree
    return example


def facts(text: str, *more: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Read facts such as `n3 text children, n1 node`."""
    words = [part.split() for part in text.split(",")]
    return {(aspect, node) for node, *aspects in words for aspect in aspects} | set(more)


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
    accesses = footprint(tree, act, seq=9)
    assert (accesses.reads, accesses.writes) == (reads, writes)


def test_a_new_tree_writes_all_its_nodes() -> None:
    accesses = footprint(Tree({}), Create(hypothesis="h", nodes=(GivenNode("a", -1),)), seq=1)
    assert (accesses.reads, accesses.writes) == (
        set(),
        facts("n1 node text parent children, n1.1 node text parent children"),
    )


def test_a_loose_node_has_no_place_to_be_taken_from(story: Any, tell: Any) -> None:
    loose = tell(nodes=(GivenNode("a", None),)).tree
    assert footprint(loose, Remove(node="n1.1"), seq=9).writes == {("node", "n1.1"), ("children", "n1.1")}
    moved = footprint(loose, Move(node="n1.1", parent=ROOT), seq=9)
    assert moved.writes == {("parent", "n1.1"), ("children", ROOT)}


def test_a_damaged_order_neither_adds_nor_loses_a_child() -> None:
    create = Create(hypothesis="h", nodes=(GivenNode("a", -1), GivenNode("b", -1)))
    order = Reorder(node=ROOT, order=("n1.2", "<script>", "n1.2"))
    events = [
        Event(seq=seq, author="Ann", at=datetime(2026, 1, 1, tzinfo=UTC), act=act)
        for seq, act in enumerate((create, order), start=1)
    ]
    assert replay(events).tree.root.children == ("n1.2", "n1.1")
