"""Replay of logs: undo, redo, two authors, and any sequence of acts."""

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
    Event,
    Move,
    Redo,
    Reject,
    Remove,
    Undo,
    Write,
)
from entail.trees.log.replay import replay
from entail.trees.log.rules import check
from entail.trees.log.tree import ROOT
from tests.trees.conftest import event


def test_undo_and_redo_are_of_ones_own_acts_and_a_new_act_forgets_what_could_be_redone(story: Any) -> None:
    story.ann(Write(node=ROOT, text="ice melts"))
    for attempt in (story.redo, lambda: story.undo("Bob")):
        with pytest.raises(UndoError):
            attempt()
    story.undo()
    story.bob(Write(node=ROOT, text="sun shines"))
    assert story.history.redoable("Ann").seq == 2
    story.ann(Write(node=ROOT, text="snow is white"))
    assert story.history.redoable("Ann") is None


def test_undo_passes_over_an_act_that_a_later_one_needs(story: Any) -> None:
    story.ann(Write(node=ROOT, text="ice melts"))
    story.ann(Write(node=ROOT, text="spring is warm"))
    story.bob(Write(node="n3", text="the sun is high"))
    assert story.history.undoable("Ann").seq == 2
    story.undo()
    undo = story.history.events[-1].act
    skipped = story.history.skipped(undo)
    assert (undo.seq, skipped.seq) == (2, 3)
    assert story.outline == ["snow melts in spring", "  spring is warm", "    the sun is high"]
    story.redo()
    story.undo("Bob")
    story.undo()
    undo = story.history.events[-1].act
    assert (undo.seq, story.history.skipped(undo)) == (3, None)


A, B, C = (Write(node=ROOT, text=text) for text in "abc")


@pytest.mark.parametrize(
    ("own", "other"),
    [([A], Write(node="n2", text="below a")), ([A, Remove(node="n2")], A)],
    ids=["rests on it", "would break a rule without it"],
)
def test_undo_is_refused_when_a_later_act_needs_it(story: Any, own: list[Any], other: Any) -> None:
    for act in own:
        story.ann(act)
    story.bob(other)
    with pytest.raises(UndoError):
        story.undo("Ann")
    story.undo("Bob")
    story.undo("Ann")


def test_redo_is_refused_when_what_it_needs_was_changed(story: Any) -> None:
    story.ann(Accept(node=ROOT, premise=Premise("ice melts")))
    story.undo()
    story.bob(Edit(node=ROOT, text="snow melts in May"))
    with pytest.raises(UndoError, match="Bob"):
        story.redo()


def test_acts_on_other_things_do_not_disturb_each_other(story: Any) -> None:
    n2 = story.ann(Write(node=ROOT, text="ice melts"))
    base = story.history.seq
    story.ann(Write(node=ROOT, text="spring is warm"))
    story.bob(Write(node=ROOT, text="sun shines"), base=base)
    story.bob(Write(node=n2, text="ice is water"), base=base)
    assert story.outline[1:] == ["  ice melts", "    ice is water", "  spring is warm", "  sun shines"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Remove(node="n2"), Write(node="n2", text="x")),
        (Write(node="n2", text="x"), Remove(node="n2")),
        (Reject(node="n2", premise=Premise("x")), Accept(node="n2", premise=Premise("x"))),
        (Accept(node="n2", premise=Premise("x")), Write(node="n2", text="x")),
        (Write(node=ROOT, text="x"), Edit(node="n2", text="x")),
        (Write(node="n2", text="x"), Edit(node=ROOT, text="x")),
        (Move(node="n2", parent="n3"), Move(node="n3", parent="n2")),
        (Conclude(node=ROOT, premises=("n2",), text="x"), Conclude(node=ROOT, premises=("n2",), text="y")),
        (Edit(node="n2", text="x"), Write(node="n2", text="y")),
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


def test_undo_and_redo_are_changes_unless_nothing_is_left_of_them(story: Any) -> None:
    n2 = story.ann(Write(node=ROOT, text="ice melts"))
    base = story.history.seq
    story.undo()
    with pytest.raises(ConflictError):
        story.bob(Edit(node=n2, text="all ice melts"), base=base)
    undone = story.history.seq
    story.redo()
    with pytest.raises(ConflictError):
        story.bob(Write(node=ROOT, text="ice melts"), base=undone)
    story.ann(Edit(node=n2, text="ice can melt"))
    story.undo()
    story.bob(Edit(node=n2, text="all ice melts"), base=base)


def test_an_act_that_never_made_sense_is_not_called_a_conflict(story: Any) -> None:
    base = story.history.seq
    story.ann(Write(node=ROOT, text="ice melts"))
    for act in (Remove(node="n9"), Write(node=ROOT, text="snow melts in spring")):
        with pytest.raises(ActError) as refused:
            story.bob(act, base=base)
        assert not isinstance(refused.value, ConflictError)
    for unknown in (0, -1, 3):
        with pytest.raises(TreeError):
            story.bob(Write(node=ROOT, text="x"), base=unknown)


CREATE, WRITE = Create(hypothesis="h"), Write(node=ROOT, text="x")


LOGS: tuple[list[Any], ...] = (
    [],
    [WRITE],
    [CREATE, Write(node="n7", text="x")],
    [CREATE, Remove(node="n7")],
    [CREATE, Undo(seq=1)],
    [CREATE, Undo(seq=2)],
    [CREATE, Undo(seq=0)],
    [CREATE, WRITE, Redo(seq=2)],
    [CREATE, WRITE, Undo(seq=2), Undo(seq=2)],
    [CREATE, WRITE, Undo(seq=2), Undo(seq=3)],
)


@pytest.mark.parametrize(
    "events",
    [
        *([event(seq, act) for seq, act in enumerate(acts, 1)] for acts in LOGS),
        [event(1, CREATE), event(3, WRITE)],
        [event(1, CREATE), event(2, WRITE), event(3, Undo(seq=2), "Bob")],
    ],
)
def test_a_damaged_log_is_refused(events: list[Event]) -> None:
    with pytest.raises(TreeError):
        replay(events)
