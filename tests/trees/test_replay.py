"""Replay of logs: undo, redo, two authors, and any sequence of acts."""

from __future__ import annotations

from typing import Any

import pytest

from entail.data.records import Premise
from entail.errors import ActError, ConflictError, TreeError, UndoError
from entail.trees.log.acts import (
    Accept,
    Act,
    Conclude,
    Create,
    Edit,
    Finish,
    Move,
    Redo,
    Reject,
    Remove,
    Reorder,
    Undo,
    Write,
)
from entail.trees.log.replay import replay
from entail.trees.log.rules import check
from entail.trees.log.tree import ROOT
from tests.trees.conftest import event, state

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
    base = story.history.seq
    story.ann(Write(node=ROOT, text="spring is warm"))
    story.bob(Write(node=ROOT, text="sun shines"), base=base)
    story.bob(Write(node=n2, text="ice is water"), base=base)
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
    base = story.history.seq
    check(story.tree, second)
    story.ann(first)
    with pytest.raises(ConflictError) as refused:
        story.bob(second, base=base)
    (change,) = refused.value.changes
    assert change == story.history.describe(story.history.event(4), with_author=True)
    assert change in str(refused.value)


def test_what_was_undone_or_undone_and_redone_meanwhile_is_no_change(story: Any) -> None:
    n2 = story.ann(Write(node=ROOT, text="ice melts"))
    base = story.history.seq
    story.undo()
    story.redo()
    story.ann(Edit(node=n2, text="ice can melt"))
    story.undo()
    story.bob(Edit(node=n2, text="all ice melts"), base=base)


def test_an_undo_and_a_redo_are_changes(story: Any) -> None:
    n2 = story.ann(Write(node=ROOT, text="ice melts"))
    base = story.history.seq
    story.undo()
    with pytest.raises(ConflictError, match=r"Ann undid: wrote “ice melts”"):
        story.bob(Edit(node=n2, text="all ice melts"), base=base)
    base = story.history.seq
    story.redo()
    with pytest.raises(ConflictError, match=r"Ann redid: wrote “ice melts”"):
        story.bob(Write(node=ROOT, text="ice melts"), base=base)


def test_an_act_that_never_made_sense_is_not_called_a_conflict(story: Any) -> None:
    base = story.history.seq
    story.ann(Write(node=ROOT, text="ice melts"))
    with pytest.raises(ActError, match="no node n9"):
        story.bob(Remove(node="n9"), base=base)
    with pytest.raises(ActError, match="cannot explain itself"):
        story.bob(Write(node=ROOT, text="snow melts in spring"), base=base)


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
