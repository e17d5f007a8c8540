"""Any sequence of acts by three authors: logs replay, undo and redo, and refuse alike."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

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
    Finish,
    GivenNode,
    Move,
    Reject,
    Remove,
    Reorder,
    Restore,
    Write,
)
from entail.trees.log.replay import History, replay
from entail.trees.log.rules import check
from entail.trees.log.tree import Tree
from tests.trees.conftest import event, state

E = TypeVar("E", bound=TreeError)

AUTHORS = ("Ann", "Bob", "Cleo")
TEXTS = (*"abcdefghij", "snow is ice", "snow  is ice")
KINDS = ("accept", "reject", "finish", "write", "conclude", "edit", "remove", "reorder", "move", "restore")


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
            premises = draw(st.lists(st.sampled_from(children), min_size=1, unique=True))
            return Conclude(node=node, premises=tuple(premises), text=text)
        case "edit":
            return Edit(node=node, text=text)
        case "remove":
            return Remove(node=node, keep_premises=draw(st.booleans()))
        case "reorder" if len(children) > 1:
            return Reorder(node=node, order=tuple(draw(st.permutations(children))))
        case "restore":
            return Restore(seq=draw(st.integers(1, tree.seq)))
        case "move":
            return Move(node=node, parent=draw(nodes))
        case _:
            return Write(node=node, text=text)


def sensible(tree: Tree, act: Act) -> bool:
    return refusal(lambda: check(tree, act), ActError) is None


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


def renamed(tree: Tree, names: dict[str | None, str]) -> tuple[Any, ...]:
    """Return a tree with nodes under other names, sibling order and seqs aside."""

    def name(node_id: str | None) -> str | None:
        return names.get(node_id, node_id)

    nodes = {
        name(n.id): (n.text, n.key, name(n.parent), frozenset(map(name, n.children)), n.origin)
        for n in tree.nodes.values()
    }
    judgements = {(name(node), key): (j.accepted, j.author) for (node, key), j in tree.judgements.items()}
    return nodes, judgements, set(map(name, tree.finished))


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
        if isinstance(act, Restore):
            assert done.tree.nodes.items() == replay(done.events[: act.seq]).tree.nodes.items()

    @precondition(lambda self: self.history.seq > 1)
    @rule(data=st.data(), author=st.sampled_from(AUTHORS))
    def act_on_an_old_version(self, data: st.DataObject, author: str) -> None:
        base = data.draw(st.integers(1, self.history.seq))
        old_tree = replay(self.history.events[:base]).tree
        act = data.draw(acts_on(old_tree))
        if not sensible(old_tree, act):
            return
        refused = refusal(lambda: self.history.check_current(act, base=base), ConflictError)
        if refused is None:
            self._append(author, act)
        else:
            descriptions = {self.history.describe(e, with_author=True) for e in self.history.events[base:]}
            assert refused.changes
            assert set(refused.changes) <= descriptions

    @rule(data=st.data())
    def two_at_once(self, data: st.DataObject) -> None:
        base, tree = self.history.seq, self.history.tree
        left, right = data.draw(acts_on(tree)), data.draw(acts_on(tree))
        if not (sensible(tree, left) and sensible(tree, right)):
            return
        ends = []
        for first, second in ((left, right), (right, left)):
            after = self.history.extend([event(base + 1, first, "Ann")])
            refused = refusal(lambda now=after, act=second: now.check_current(act, base=base), ConflictError)
            if refused is None:
                ends.append(after.extend([event(base + 2, second, "Ann")]).tree)
            else:
                assert refused.changes == (after.describe(after.events[-1], with_author=True),)
        if len(ends) == 2:
            a, b = f"n{base + 1}", f"n{base + 2}"
            assert renamed(ends[0], {}) == renamed(ends[1], {a: b, b: a})

    @rule(author=st.sampled_from(AUTHORS), turn=st.sampled_from([History.plan_undo, History.plan_redo]))
    def undo_or_redo(self, author: str, turn: Callable[[History, str], Any]) -> None:
        refused = refusal(lambda: turn(self.history, author), UndoError)
        if refused is None:
            self._append(author, turn(self.history, author))
        else:
            assert re.search("no act of yours|depends on it|changed since|become invalid", str(refused))

    @rule(author=st.sampled_from(AUTHORS), steps=st.integers(1, 4))
    def undo_several_and_redo_them(self, author: str, steps: int) -> None:
        now, done = self.history, 0
        while done < steps and refusal(partial(now.plan_undo, author), UndoError) is None:
            now = now.extend([event(now.seq + 1, now.plan_undo(author), author)])
            done += 1
        for _ in range(done):
            now = now.extend([event(now.seq + 1, now.plan_redo(author), author)])
        assert state(now.tree) == state(self.history.tree)

    @invariant()
    def sound_and_the_same_if_replayed_at_once(self) -> None:
        if hasattr(self, "history"):
            assert_sound(self.history)
            whole = replay(self.history.events, strict_from=1)
            assert whole == self.history
            assert (whole.tree.seq, state(whole.tree)) == (self.history.seq, state(self.history.tree))


TestAuthoring = Authoring.TestCase
TestAuthoring.settings = settings(
    max_examples=50, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
