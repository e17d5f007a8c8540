"""Replay of logs: undo, redo, two authors, and any sequence of acts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from entail.data.records import Premise
from entail.data.text import fold
from entail.errors import ActError, ConflictError, TreeError, UndoError
from entail.trees.log.acts import (
    Accept,
    Act,
    Conclude,
    Create,
    Edit,
    Event,
    Finish,
    GivenNode,
    Move,
    Redo,
    Reject,
    Remove,
    Reorder,
    Undo,
    Write,
    act_to_json,
    parse_act,
)
from entail.trees.log.replay import History, replay
from entail.trees.log.rules import check
from entail.trees.log.tree import ROOT, Tree

E = TypeVar("E", bound=TreeError)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AUTHORS = ("Ann", "Bob", "Cleo")
TEXTS = (*"abcdefghij", "snow is ice", "snow  is ice")


def event(seq: int, act: Any, author: str = "Ann") -> Event:
    return Event(seq=seq, author=author, at=NOW, act=act)


def state(tree: Tree) -> tuple[Any, ...]:
    """Return all of a tree but the seq of its last event, orders included."""
    return (
        list(tree.nodes.items()),
        list(tree.judgements.items()),
        list(tree.finished.items()),
        dict(tree.source),
    )


# --- undo and redo, by hand ---


def test_undo_takes_back_ones_own_last_act_and_redo_puts_it_back(story: Any) -> None:
    story.ann(Write(node=ROOT, text="ice melts"))
    story.ann(Write(node=ROOT, text="spring is warm"))
    before = story.tree
    story.undo()
    assert story.outline == ["snow melts in spring", "  ice melts"]
    story.undo()
    assert story.outline == ["snow melts in spring"]
    story.redo()
    story.redo()
    assert state(story.tree) == state(before)
    with pytest.raises(UndoError, match="no act of yours to redo"):
        story.redo()
    with pytest.raises(UndoError, match="no act of yours to undo"):
        story.undo("Bob")


def test_undo_is_refused_when_a_later_act_rests_on_it(story: Any) -> None:
    n2 = story.ann(Write(node=ROOT, text="ice melts"))
    story.bob(Write(node=n2, text="ice is frozen water"))
    with pytest.raises(UndoError) as refused:
        story.undo("Ann")
    assert "wrote “ice melts” below “snow melts in spring”" in str(refused.value)
    assert "Bob wrote “ice is frozen water” below “ice melts”" in str(refused.value)
    story.undo("Bob")
    story.undo("Ann")
    assert story.outline == ["snow melts in spring"]


def test_undo_is_refused_when_a_later_act_would_break_a_rule_without_it(story: Any) -> None:
    n2 = story.ann(Write(node=ROOT, text="ice melts"))
    story.ann(Remove(node=n2))
    story.bob(Write(node=ROOT, text="ice melts"))
    with pytest.raises(UndoError, match="a later act would become invalid"):
        story.undo("Ann")


def test_a_new_act_forgets_what_could_be_redone(story: Any) -> None:
    story.ann(Write(node=ROOT, text="ice melts"))
    story.undo()
    story.bob(Write(node=ROOT, text="spring is warm"))
    assert story.history.redoable("Ann").seq == 2
    story.ann(Write(node=ROOT, text="sun shines"))
    assert story.history.redoable("Ann") is None


def test_redo_is_refused_when_what_it_needs_was_changed(story: Any) -> None:
    story.ann(Accept(node=ROOT, premise=Premise("ice melts")))
    story.undo()
    story.bob(Edit(node=ROOT, text="snow melts in May"))
    with pytest.raises(UndoError, match=r"cannot redo.*Bob.*reworded"):
        story.redo()
    assert story.outline == ["snow melts in May"]


def test_redo_is_refused_when_a_later_act_would_have_seen_it(story: Any) -> None:
    story.ann(Write(node=ROOT, text="a"))
    story.ann(Write(node=ROOT, text="b"))
    story.ann(Write(node=ROOT, text="c"))
    story.undo()
    story.bob(Reorder(node=ROOT, order=("n3", "n2")))
    with pytest.raises(UndoError, match="reordered"):
        story.redo()


def test_undo_gives_back_the_place(story: Any) -> None:
    _a, b, c = (story.ann(Write(node=ROOT, text=text)) for text in "abc")
    story.ann(Write(node=b, text="below b"))
    before = story.tree
    for act in (Move(node=b, parent=c), Remove(node=b), Remove(node=b, keep_premises=True)):
        story.ann(act)
        story.undo()
        assert state(story.tree) == state(before)


# --- two authors, by hand ---


def test_acts_on_other_things_do_not_disturb_each_other(story: Any) -> None:
    n2 = story.ann(Write(node=ROOT, text="ice melts"))
    seen = story.history.seq
    story.ann(Write(node=ROOT, text="spring is warm"))
    story.bob(Write(node=ROOT, text="sun shines"), base=seen)
    story.bob(Write(node=n2, text="ice is water"), base=seen)
    assert story.outline == [
        "snow melts in spring",
        "  ice melts",
        "    ice is water",
        "  spring is warm",
        "  sun shines",
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Remove(node="n2"), Write(node="n2", text="x")),
        (Write(node="n2", text="x"), Remove(node="n2")),
        (Reject(node="n2", premise=Premise("x")), Remove(node="n2")),
        (Reject(node="n2", premise=Premise("x")), Accept(node="n2", premise=Premise("x"))),
        (Accept(node="n2", premise=Premise("x")), Accept(node="n2", premise=Premise("x"))),
        (Accept(node="n2", premise=Premise("x")), Write(node="n2", text="x")),
        (Accept(node="n2", premise=Premise("x")), Reject(node="n2", premise=Premise("x"))),
        (Finish(node="n2", premises=(Premise("x"),)), Accept(node="n2", premise=Premise("x"))),
        (Write(node=ROOT, text="x"), Reorder(node=ROOT, order=("n3", "n2"))),
        (Write(node=ROOT, text="x"), Edit(node="n2", text="x")),
        (Write(node="n2", text="x"), Edit(node=ROOT, text="x")),
        (Move(node="n2", parent="n3"), Move(node="n3", parent="n2")),
        (Move(node="n2", parent="n3"), Conclude(node=ROOT, premises=("n2",), text="x")),
        (Conclude(node=ROOT, premises=("n2",), text="x"), Conclude(node=ROOT, premises=("n2",), text="y")),
        (Conclude(node=ROOT, premises=("n2",), text="x"), Write(node=ROOT, text="x")),
        (Remove(node="n3"), Move(node="n2", parent="n3")),
        (Edit(node="n2", text="x"), Edit(node="n2", text="y")),
        (Edit(node="n2", text="x"), Write(node="n2", text="y")),
        (Edit(node=ROOT, text="x"), Accept(node=ROOT, premise=Premise("y"))),
    ],
    ids=lambda act: f"{act.kind} {act.node}",
)
def test_conflicts_name_the_change(story: Any, first: Act, second: Act) -> None:
    story.ann(Write(node=ROOT, text="two"))
    story.ann(Write(node=ROOT, text="three"))
    seen = story.history.seq
    check(story.tree, second)
    story.ann(first)
    with pytest.raises(ConflictError) as refused:
        story.bob(second, base=seen)
    (change,) = refused.value.changes
    assert change == story.history.describe(story.history.event(4), with_author=True)
    assert change in str(refused.value)


def test_what_was_undone_or_undone_and_redone_meanwhile_is_no_change(story: Any) -> None:
    n2 = story.ann(Write(node=ROOT, text="ice melts"))
    seen = story.history.seq
    story.undo()
    story.redo()
    story.ann(Edit(node=n2, text="ice can melt"))
    story.undo()
    story.bob(Edit(node=n2, text="all ice melts"), base=seen)


def test_an_undo_and_a_redo_are_changes(story: Any) -> None:
    n2 = story.ann(Write(node=ROOT, text="ice melts"))
    seen = story.history.seq
    story.undo()
    with pytest.raises(ConflictError, match=r"Ann undid: wrote “ice melts”"):
        story.bob(Edit(node=n2, text="all ice melts"), base=seen)
    seen = story.history.seq
    story.redo()
    with pytest.raises(ConflictError, match=r"Ann redid: wrote “ice melts”"):
        story.bob(Write(node=ROOT, text="ice melts"), base=seen)


def test_an_act_that_never_made_sense_is_not_called_a_conflict(story: Any) -> None:
    seen = story.history.seq
    story.ann(Write(node=ROOT, text="ice melts"))
    with pytest.raises(ActError, match="no node n9"):
        story.bob(Remove(node="n9"), base=seen)
    with pytest.raises(ActError, match="cannot explain itself"):
        story.bob(Write(node=ROOT, text="snow melts in spring"), base=seen)


@pytest.mark.parametrize("base", [0, -1, 3])
def test_a_version_that_never_was_is_refused(story: Any, base: int) -> None:
    story.ann(Write(node=ROOT, text="ice melts"))
    with pytest.raises(TreeError, match=f"versions 1 to 2, found {base}"):
        story.bob(Write(node=ROOT, text="x"), base=base)


# --- damaged logs ---


@pytest.mark.parametrize(
    ("acts", "message"),
    [
        ([], "starts with the act that creates"),
        ([Write(node=ROOT, text="x")], "starts with the act that creates"),
        ([Create(hypothesis="h"), Write(node="n7", text="x")], "act 2 .* does not fit"),
        ([Create(hypothesis="h"), Remove(node="n7")], "act 2 .* n7"),
        ([Create(hypothesis="h"), Undo(seq=1)], "cannot undo act 1"),
        ([Create(hypothesis="h"), Undo(seq=2)], "cannot undo act 2"),
        ([Create(hypothesis="h"), Undo(seq=0)], "cannot undo act 0"),
        ([Create(hypothesis="h"), Write(node=ROOT, text="x"), Redo(seq=2)], "cannot redo act 2"),
        ([Create(hypothesis="h"), Write(node=ROOT, text="x"), Undo(seq=2), Undo(seq=2)], "cannot undo act 2"),
        ([Create(hypothesis="h"), Write(node=ROOT, text="x"), Undo(seq=2), Undo(seq=3)], "cannot undo act 3"),
    ],
)
def test_a_damaged_log_is_refused(acts: list[Any], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        replay([event(i, act) for i, act in enumerate(acts, 1)])


def test_a_gap_in_the_log_and_an_undo_by_somebody_else_are_refused() -> None:
    log = [event(1, Create(hypothesis="h")), event(2, Write(node=ROOT, text="x"))]
    with pytest.raises(TreeError, match="go on with seq 2 to 2, found 3 to 3"):
        replay(log[:1]).extend([event(3, Write(node=ROOT, text="x"))])
    with pytest.raises(TreeError, match="cannot undo act 2"):
        replay([*log, event(3, Undo(seq=2), "Bob")])


# --- any sequence of acts ---

KINDS = ("accept", "reject", "finish", "write", "conclude", "edit", "remove", "reorder", "move")


@st.composite
def acts_on(draw: st.DrawFn, tree: Tree) -> Act:
    """Draw an act that speaks of nodes of this tree; it may make no sense."""
    nodes = st.sampled_from(sorted(tree.nodes))
    texts = st.sampled_from(TEXTS)
    node, text = draw(nodes), draw(texts)
    children = tree.nodes[node].children
    match draw(st.sampled_from(KINDS)):
        case "accept":
            return Accept(node=node, premise=Premise(text))
        case "reject":
            return Reject(node=node, premise=Premise(text))
        case "finish":
            return Finish(node=node, premises=tuple(map(Premise, draw(st.lists(texts, max_size=3)))))
        case "conclude" if children:
            chosen = draw(st.lists(st.sampled_from(children), min_size=1, unique=True))
            return Conclude(node=node, premises=tuple(chosen), text=text)
        case "edit":
            return Edit(node=node, text=text)
        case "remove":
            return Remove(node=node, keep_premises=draw(st.booleans()))
        case "reorder" if len(children) > 1:
            return Reorder(node=node, order=tuple(draw(st.permutations(children))))
        case "move":
            return Move(node=node, parent=draw(nodes))
        case _:
            return Write(node=node, text=text)


def sensible(tree: Tree, act: Act) -> bool:
    try:
        check(tree, act)
    except ActError:
        return False
    return True


def refusal(attempt: Callable[[], object], kind: type[E]) -> E | None:
    """Return the error of this kind that an attempt ends with, None if it ends well."""
    try:
        attempt()
    except kind as error:
        return error
    return None


def assert_sound(history: History) -> None:
    """Assert what holds of every tree."""
    tree = history.tree
    for node in tree.nodes.values():
        for child in node.children:
            assert tree.nodes[child].parent == node.id
        assert len(set(node.children)) == len(node.children)
        if node.parent is not None:
            assert node.id in tree.nodes[node.parent].children
        folded = [fold(tree.nodes[child].text) for child in node.children]
        assert len(set(folded)) == len(folded), "equal siblings"
        above = {fold(other.text) for other in tree.ancestors(node.id)}
        assert fold(node.text) not in above, "a sentence above itself"
    reached = {node.id for node in tree.walk()}
    assert reached == set(tree.nodes), "a cycle"
    assert tree.root.parent is None
    assert set(tree.finished) <= set(tree.nodes)
    for (node_id, key), judgement in tree.judgements.items():
        assert node_id in tree.nodes
        assert judgement.premise.key == key
        below = {tree.nodes[child].key for child in tree.nodes[node_id].children}
        if judgement.accepted:
            assert f"n{judgement.seq}" in tree.nodes, "accepted, but what it made is gone"
        else:
            assert key not in below, "rejected, but there"
    for node in tree.nodes.values():
        if node.origin == "accept" and node.key is not None:
            act = history.event(node.seq).act
            assert isinstance(act, Accept)
            if node.parent == act.node:
                judgement = tree.judgements.get((act.node, node.key))
                assert judgement is None or judgement.accepted


def renamed(tree: Tree, names: dict[str, str]) -> tuple[Any, ...]:
    """Return a tree with nodes under other names, sibling order and seqs aside."""

    def name(node_id: str) -> str:
        return names.get(node_id, node_id)

    return (
        {
            name(n.id): (
                n.text,
                n.key,
                n.parent and name(n.parent),
                frozenset(map(name, n.children)),
                n.origin,
            )
            for n in tree.nodes.values()
        },
        {(name(node), key): (j.accepted, j.author) for (node, key), j in tree.judgements.items()},
        {name(node) for node in tree.finished},
    )


class Authoring(RuleBasedStateMachine):
    """Three authors act on one tree, look at old versions, undo and redo."""

    @initialize(imported=st.booleans())
    def begin(self, imported: bool) -> None:
        nodes = (
            GivenNode("ice is cold", -1, "int1"),
            GivenNode("fire is hot", 0, "sent1"),
            GivenNode("water is wet", None, "int2"),
            GivenNode("steam is hot", 2, "sent2"),
        )
        create = Create(hypothesis="snow is white", nodes=nodes if imported else ())
        self.history = replay([event(1, create)])

    def _append(self, author: str, act: Any) -> None:
        self.history = self.history.extend([event(self.history.seq + 1, act, author)])

    @rule(data=st.data(), authors=st.lists(st.sampled_from(AUTHORS), min_size=1, max_size=6))
    def act(self, data: st.DataObject, authors: list[str]) -> None:
        for author in authors:
            act = data.draw(acts_on(self.history.tree))
            if sensible(self.history.tree, act):
                self.act_undo_redo(author, act)

    def act_undo_redo(self, author: str, act: Act) -> None:
        before = self.history.tree
        self.history.check_current(act, base=self.history.seq)
        self._append(author, act)
        done = self.history
        undone = done.extend([event(done.seq + 1, done.plan_undo(author), author)])
        assert state(undone.tree) == state(before), "undo at once gives the tree before"
        redone = undone.extend([event(undone.seq + 1, undone.plan_redo(author), author)])
        assert state(redone.tree) == state(done.tree), "redo at once gives the tree before the undo"

    @precondition(lambda self: self.history.seq > 1)
    @rule(data=st.data(), author=st.sampled_from(AUTHORS))
    def act_on_an_old_version(self, data: st.DataObject, author: str) -> None:
        base = data.draw(st.integers(1, self.history.seq))
        seen = replay(self.history.events[:base]).tree
        act = data.draw(acts_on(seen))
        if not sensible(seen, act):
            return
        refused = refusal(lambda: self.history.check_current(act, base=base), ConflictError)
        if refused is None:
            self._append(author, act)
        else:
            known = {self.history.describe(e, with_author=True) for e in self.history.events[base:]}
            assert refused.changes
            assert set(refused.changes) <= known

    @rule(data=st.data())
    def two_at_once(self, data: st.DataObject) -> None:
        base, tree = self.history.seq, self.history.tree
        one, two = data.draw(acts_on(tree)), data.draw(acts_on(tree))
        if not (sensible(tree, one) and sensible(tree, two)):
            return
        ends = []
        for first, second in ((one, two), (two, one)):
            after = self.history.extend([event(base + 1, first, "Ann")])
            refused = refusal(lambda now=after, act=second: now.check_current(act, base=base), ConflictError)
            if refused is None:
                ends.append(after.extend([event(base + 2, second, "Ann")]).tree)
            else:
                assert refused.changes == (after.describe(after.events[-1], with_author=True),)
        if len(ends) == 2:
            a, b = f"n{base + 1}", f"n{base + 2}"
            assert renamed(ends[0], {}) == renamed(ends[1], {a: b, b: a})

    @rule(author=st.sampled_from(AUTHORS))
    def undo(self, author: str) -> None:
        refused = refusal(lambda: self.history.plan_undo(author), UndoError)
        if refused is None:
            self._append(author, self.history.plan_undo(author))
        else:
            assert re.search("no act of yours|depends on it|become invalid", str(refused))

    @rule(author=st.sampled_from(AUTHORS))
    def redo(self, author: str) -> None:
        refused = refusal(lambda: self.history.plan_redo(author), UndoError)
        if refused is None:
            self._append(author, self.history.plan_redo(author))
        else:
            assert re.search("no act of yours|changed since|become invalid", str(refused))

    @rule(author=st.sampled_from(AUTHORS), steps=st.integers(1, 4))
    def undo_several_and_redo_them(self, author: str, steps: int) -> None:
        begun, now = self.history, self.history
        done = 0
        for _ in range(steps):
            try:
                now = now.extend([event(now.seq + 1, now.plan_undo(author), author)])
            except UndoError:
                break
            done += 1
        for _ in range(done):
            now = now.extend([event(now.seq + 1, now.plan_redo(author), author)])
        assert state(now.tree) == state(begun.tree)

    @invariant()
    def sound(self) -> None:
        if hasattr(self, "history"):
            assert_sound(self.history)

    @invariant()
    def one_by_one_is_all_at_once(self) -> None:
        if hasattr(self, "history"):
            whole = replay(self.history.events, strict_from=1)
            assert whole == self.history
            assert state(whole.tree) == state(self.history.tree)
            assert whole.tree.seq == self.history.tree.seq

    def teardown(self) -> None:
        for past in getattr(self, "history", replay([event(1, Create(hypothesis="h"))])).events:
            assert parse_act(past.act.kind, json.dumps(act_to_json(past.act))) == past.act


TestAuthoring = Authoring.TestCase
TestAuthoring.settings = settings(
    max_examples=50, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
