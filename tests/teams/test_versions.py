"""Versions of a tree: names, and the way back to an act."""

from functools import partial

import pytest

from entail.errors import ConflictError, TeamError, UndoError, UnknownTreeError
from entail.teams.comments import Comments
from entail.teams.versions import Versions
from entail.trees.log.acts import Create, Edit, Remove, Restore, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT
from tests.teams.conftest import Team


@pytest.fixture
def versions(team: Team) -> Versions:
    return Versions(team.database, team.log)


@pytest.fixture
def tree_id(team: Team) -> str:
    """A tree with a (act 2) and b (act 3), of which a was reworded (4) and b removed (5)."""
    tree_id = team.log.create(Create(hypothesis="ice melts"), author="Ann")
    acts = [
        Write(node=ROOT, text="a"),
        Write(node=ROOT, text="b"),
        Edit(node="n2", text="c"),
        Remove(node="n3"),
    ]
    for base, act in enumerate(acts, start=1):
        team.log.act(tree_id, act, author="Ann", base=base)
    return tree_id


def texts(team: Team, tree_id: str) -> list[str]:
    return [node.text for node in TreeLog(team.database).history(tree_id).tree.nodes.values()]


def test_a_tree_returns_to_an_act_and_back(team: Team, versions: Versions, tree_id: str) -> None:
    history = versions.restore(tree_id, 3, actor="Bob", base=5)
    assert history.events[-1].act == Restore(seq=3)
    assert texts(team, tree_id) == ["ice melts", "a", "b"]
    team.log.act(tree_id, Write(node="n3", text="d"), author="Ann", base=6)
    team.log.undo(tree_id, author="Ann")
    with pytest.raises(UndoError):
        team.log.undo(tree_id, author="Ann")
    team.log.undo(tree_id, author="Bob")
    assert texts(team, tree_id) == ["ice melts", "c"]


def test_what_another_did_meanwhile_is_not_overwritten(team: Team, versions: Versions, tree_id: str) -> None:
    team.log.act(tree_id, Write(node=ROOT, text="d"), author="Ann", base=5)
    with pytest.raises(ConflictError):
        versions.restore(tree_id, 3, actor="Bob", base=5)
    versions.restore(tree_id, 3, actor="Bob", base=6)
    with pytest.raises(ConflictError):
        team.log.act(tree_id, Write(node="n2", text="e"), author="Ann", base=6)


def test_versions_have_names_and_are_compared(team: Team, versions: Versions, tree_id: str) -> None:
    versions.name(tree_id, " first ", seq=2, actor="Ann")
    versions.name(tree_id, "second", seq=4, actor="Bob")
    versions.name(tree_id, "first", seq=3, actor="Bob")
    rows = [
        (version.name, version.seq, version.author) for version in versions.versions(tree_id, actor="Eve")
    ]
    assert rows == [("second", 4, "Bob"), ("first", 3, "Bob")]
    for seq, texts_of_differences in ((5, ["a", "b"]), (2, ["b"])):
        assert [d.text for d in versions.compare(tree_id, seq, 3, actor="Eve")] == texts_of_differences
    for attempt in (
        lambda: versions.name(tree_id, " ", seq=2, actor="Ann"),
        *(partial(versions.restore, tree_id, seq, actor="Bob", base=5) for seq in (0, 6)),
        *(partial(versions.name, tree_id, "third", seq=seq, actor="Bob") for seq in (0, 6)),
    ):
        with pytest.raises(TeamError):
            attempt()
    assert team.log.history(tree_id).seq == 5


def test_versions_of_a_hidden_or_submitted_copy(team: Team, versions: Versions) -> None:
    project = team.start("ice melts", overlap=2)
    piece = team.next(project, "Ann")
    tree_id = piece.tree_id or ""
    versions.name(tree_id, "first", seq=1, actor="Ann")
    for attempt in (
        lambda: versions.versions(tree_id, actor="Bob"),
        lambda: versions.name(tree_id, "mine", seq=1, actor="Bob"),
        lambda: versions.compare(tree_id, 1, 1, actor="Bob"),
        lambda: versions.restore(tree_id, 1, actor="Bob", base=1),
        lambda: Comments(team.database).add(tree_id, "me too", actor="Bob"),
    ):
        with pytest.raises(UnknownTreeError):
            attempt()
    team.work.move(piece.id, "submit", actor="Ann")
    with pytest.raises(TeamError):
        versions.restore(tree_id, 1, actor="Ann", base=1)
