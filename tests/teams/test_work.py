"""Pieces of work: the queue, leases, assignment, moves and their undo."""

from collections import Counter

import pytest
import sqlalchemy as sa

from entail.errors import TeamError
from entail.teams.comments import Comments
from entail.teams.curation import Curation
from entail.teams.permissions import PieceId
from entail.teams.policy import Role
from entail.teams.projects import Plan
from entail.teams.report import measure_agreement
from entail.trees.log.acts import Create
from entail.trees.store import schema
from tests.teams.conftest import Team, refused
from tests.trees.conftest import at_once


def test_fifty_at_once_get_no_piece_twice(team_of_both: Team) -> None:
    team = team_of_both
    project = team.start(*(f"claim {n}" for n in range(12)), overlap=3)
    names = [f"Ann {n % 10}" for n in range(50)]
    pieces = at_once(lambda name: team.work.next_piece(project.id, actor=name), names)
    for number in range(10, 40):  # those that were skipped as another call looked at them
        pieces.append(team.work.next_piece(project.id, actor=f"Ann {number}"))
    names = [f"Ann {n}" for n in range(40)]
    claimed = [piece for piece in pieces if piece is not None]
    assert len(claimed) == 36, "all are handed out, and no more"
    assert len({piece.id for piece in claimed}) == len({piece.tree_id for piece in claimed}) == 36
    pairs = Counter((piece.annotator, piece.id.number) for piece in claimed)
    assert set(pairs.values()) == {1}, "nobody has two copies of one hypothesis"
    listed = {name: team.work.pieces(project.id, actor=name, mine=True) for name in names}
    assert sorted(p.id for own in listed.values() for p in own) == sorted(p.id for p in claimed)


def test_an_act_does_not_fall_into_a_submission(team_of_both: Team) -> None:
    team = team_of_both
    project = team.start("ice melts")
    piece = team.next(project, "Ann")

    def try_to(number: int) -> bool:
        try:
            if number == 4:
                team.work.move(piece.id, "submit", actor="Ann")
            else:
                team.write(piece, f"sentence {number}")
        except TeamError:
            return False
        return True

    saved = sum(at_once(try_to, range(8))) - 1
    (row,) = team.work.pieces(project.id, actor="Ann")
    assert row.submitted_seq == team.log.history(piece.tree_id or "").seq == saved + 1


def test_both_who_submit_at_once_see_each_other(team_of_both: Team) -> None:
    team = team_of_both
    project = team.start("ice melts", overlap=4)
    pieces = [team.next(project, name) for name in "ABCD"]
    at_once(lambda piece: team.work.move(piece.id, "submit", actor=piece.annotator), pieces)
    assert len(team.log.viewed_by("A").trees()) == 4


def test_a_lease_ends_after_idle_time(team: Team) -> None:
    project = team.start("ice melts", idle_hours=2)
    piece = team.next(project, "Ann")
    team.age(1.5)
    assert team.work.next_piece(project.id, actor="Bob") is None
    team.write(piece)
    team.age(1.5)
    assert team.work.next_piece(project.id, actor="Bob") is None, "an act renews the lease"
    team.age(30)
    team.write(piece, "late")
    assert team.work.next_piece(project.id, actor="Bob") is None, "a late act too"
    team.age(2.5)
    assert team.work.next_piece(project.id, actor="Ann") is None
    claimed = team.next(project, "Bob")
    assert (claimed.id, claimed.annotator) == (piece.id, "Bob")
    assert "Ann" in team.work.moves(piece.id, actor="Bob")[-1].reason
    with refused("lease"):
        team.write(piece, "more")
    assert len(team.log.history(piece.tree_id or "").tree.nodes) == 3
    team.work.move(piece.id, "release", actor="Bob")
    assert team.next(project, "Ann").tree_id == piece.tree_id, "she goes on where she was"


def test_assigned_pieces_come_first_are_for_nobody_else_and_no_second_copy(team: Team) -> None:
    members = {"Ann": "annotator", "Bob": "annotator", "Rex": "reader"}
    project = team.start("ice melts", "bees fly", "tea cools", members=members)
    third = PieceId(project.id, 3, 1)
    team.work.assign(third, "Ann", actor="Olga")
    assert [team.next(project, "Bob").hypothesis for _ in range(2)] == ["ice melts", "bees fly"]
    assert team.work.next_piece(project.id, actor="Bob") is None
    with pytest.raises(TeamError):
        team.work.take(third, actor="Bob")
    assert team.next(project, "Ann").id == third
    team.projects.change(project.id, actor="Olga", plan=Plan(overlap=2))
    team.projects.add_hypotheses(project.id, ["snow falls"], actor="Olga")
    piece = team.next(project, "Ann")
    for member in ("Ann", "Rex", "Stranger"):
        with pytest.raises(TeamError):
            team.work.assign(piece.id._replace(copy=2), member, actor="Olga")
    assert team.work.next_piece(project.id, actor="Ann") is None


def test_even_assignment(team: Team) -> None:
    members = {"Ann": "annotator", "Bob": "annotator", "eve@lab.example": "annotator", "Rita": "reviewer"}
    project = team.start(*(f"claim {n}" for n in range(9)), members=members, overlap=2)
    first = team.next(project, "Ann")
    assert team.work.assign_evenly(project.id, actor="Olga") == 17
    pieces = team.work.pieces(project.id, actor="Olga")
    load = Counter(piece.assignee or piece.annotator for piece in pieces)
    assert load == {"Ann": 6, "Bob": 6, "eve@lab.example": 6}
    assert {p.assignee for p in pieces if p.id.number == first.id.number} - {"Ann", None} != set()
    assert all(
        len({p.assignee or p.annotator for p in pieces if p.id.number == number}) == 2
        for number in range(1, 10)
    )
    assert team.next(project, team.sign_in("Eve")).assignee == "eve@lab.example"
    assert team.work.assign_evenly(project.id, actor="Olga") == 0


def test_a_piece_goes_through_its_states(team: Team) -> None:
    project = team.start("ice melts", members={"Rita": "reviewer"})
    piece = team.next(project, "Ann")
    team.write(piece)
    team.work.move(piece.id, "submit", actor="Ann")
    assert [row.id for row in team.work.review_queue(project.id, actor="Rita")] == [piece.id]
    with refused("state"):
        team.write(piece, "more")
    for change in (team.log.undo, team.log.redo):
        with pytest.raises(TeamError):
            change(piece.tree_id or "", author="Ann")
    team.work.move(piece.id, "take back", actor="Ann")
    team.write(piece, "more")
    team.work.move(piece.id, "submit", actor="Ann")
    team.work.move(piece.id, "review", actor="Rita")
    with pytest.raises(TeamError):
        team.work.move(piece.id, "send back", actor="Rita", reason=" ")
    team.work.move(piece.id, "send back", actor="Rita", reason="bees?")
    team.write(piece, "bees buzz")
    team.work.move(piece.id, "submit", actor="Ann")
    assert team.work.move(piece.id, "accept", actor="Rita").state == "accepted"
    assert team.work.counts(project.id, actor="Rita") == {"accepted": 1}
    moves = team.work.moves(piece.id, actor="Rita")
    assert [move.action for move in moves] == [
        *("take", "submit", "take back", "submit", "review", "send back", "submit", "accept")
    ]
    assert [move.reason for move in moves if move.action == "send back"] == ["bees?"]
    assert (moves[-1].author, [move.seq for move in moves]) == ("Rita", list(range(1, 9)))


def test_a_move_is_undone_by_its_actor_while_nobody_built_on_it(team: Team) -> None:
    project = team.start("ice melts")
    piece = team.next(project, "Ann")
    assert team.work.undo(piece.id, actor="Ann").annotator is None
    piece = team.work.take(piece.id, actor="Ann")
    team.write(piece)
    team.work.move(piece.id, "submit", actor="Ann")
    with pytest.raises(TeamError):
        team.work.undo(piece.id, actor="Bob")
    assert team.work.undo(piece.id, actor="Ann").state == "in progress"
    team.work.move(piece.id, "submit", actor="Ann")
    team.work.move(piece.id, "send back", actor="Rita", reason="why?")
    assert team.work.undo(piece.id, actor="Rita").state == "submitted"
    team.work.move(piece.id, "send back", actor="Rita", reason="why?")
    team.write(piece, "because")
    with pytest.raises(TeamError):
        team.work.undo(piece.id, actor="Rita")


def test_an_assignment_keeps_what_was_written_and_is_undone(team: Team) -> None:
    project = team.start("ice melts", members={"Ann": "annotator", "Bob": "annotator"})
    piece = team.next(project, "Ann")
    team.work.assign(piece.id, "Bob", actor="Olga")
    undone = team.work.undo(piece.id, actor="Olga")
    assert (undone.state, undone.annotator, undone.assignee) == ("in progress", "Ann", None)
    team.write(piece)
    with pytest.raises(TeamError):
        team.work.undo(piece.id, actor="Olga")
    for member in ("Bob", None):
        team.work.assign(piece.id, member, actor="Olga")
    assert team.work.undo(piece.id, actor="Olga").assignee == "Bob"
    team.work.assign(piece.id, "Ann", actor="Olga")
    assert team.work.undo(piece.id, actor="Olga").assignee == "Bob"
    claimed = team.next(project, "Bob")
    assert (claimed.id, claimed.annotator) == (piece.id, "Bob")
    assert len(team.log.history(piece.tree_id or "").tree.nodes) == 2
    with pytest.raises(TeamError):
        team.write(piece, "more")


def test_a_copy_that_never_comes_is_dropped(team: Team) -> None:
    project = team.start("ice melts", overlap=3, members={"Rita": "reviewer"})
    ann, bob, cid = (team.next(project, name) for name in ("Ann", "Bob", "Cid"))
    team.submit(ann, bob)
    assert len(team.log.viewed_by("Ann").trees()) == 1
    assert team.work.move(cid.id, "drop", actor="Olga").state == "dropped"
    assert len(team.log.viewed_by("Ann").trees()) == 3
    assert team.work.next_piece(project.id, actor="Dan") is None
    with pytest.raises(TeamError):
        team.write(cid)
    with refused("state"):
        team.work.undo(cid.id, actor="Olga")
    assert measure_agreement(team.database, team.log, project.id, actor="Rita").waiting == 0
    assert len(Curation(team.database, team.log).begin(ann.id, actor="Rita").copies) == 2


def test_the_last_copy_stays_and_a_drop_is_undone_while_the_others_are_hidden(team: Team) -> None:
    project = team.start("ice melts", overlap=3)
    ann = team.next(project, "Ann")
    second, third = (ann.id._replace(copy=copy) for copy in (2, 3))
    team.work.move(second, "drop", actor="Olga")
    assert team.work.undo(second, actor="Olga").state == "open"
    assert team.next(project, "Bob").id == second
    team.work.move(second, "drop", actor="Olga")
    team.work.move(third, "drop", actor="Olga")
    for attempt in (
        lambda: team.work.move(ann.id, "drop", actor="Olga"),
        lambda: team.work.undo(third, actor="Olga"),  # Ann's copy is alone now, and no secret
    ):
        with pytest.raises(TeamError):
            attempt()
    assert [tree.annotator for tree in team.work.pieces(project.id, actor="Bob")].count("Ann") == 1


def test_copies_of_a_hypothesis_are_one_to_review(team_of_both: Team) -> None:
    team = team_of_both
    members: dict[str, Role] = {"Ann": "annotator", "Bob": "annotator"}
    project = team.start("ice floats", "bees fly", members=members, overlap=2)
    for name in members:
        for _ in range(2):
            team.work.move(team.next(project, name).id, "submit", actor=name)
    assert team.work.waiting(actor="Olga").review == 2


def test_what_waits_is_counted(team_of_both: Team) -> None:
    team = team_of_both
    members: dict[str, Role] = {"Ann": "annotator", "Bob": "annotator", "Rita": "reviewer"}
    project = team.start("ice melts", "bees fly", "tea cools", members=members)
    ann = team.next(project, "Ann")
    team.work.assign(PieceId(project.id, 3, 1), "Ann", actor="Olga")
    assert team.work.waiting(actor="Ann") == (2, 0)
    team.work.move(ann.id, "submit", actor="Ann")
    waiting = {name: team.work.waiting(actor=name) for name in ("Ann", "Bob", "Rita", "Olga", "Eve")}
    assert waiting == {"Ann": (1, 0), "Bob": (0, 0), "Rita": (0, 1), "Olga": (0, 1), "Eve": (0, 0)}
    assert team.work.states(actor="Bob") == {ann.tree_id: "submitted"}
    comments = Comments(team.database)
    thread = comments.add(ann.tree_id or "", "Why?", actor="Rita")
    comments.add(ann.tree_id or "", "@Rita: so", actor="Ann", thread=thread)
    assert [t.number for t in comments.mentioning("Rita")] == [thread]
    assert len(comments.mentioning("Rita")[0].comments) == 2
    comments.resolve(ann.tree_id or "", thread, actor="Rita")
    assert comments.mentioning("Rita") == []
    team.projects.archive(project.id, actor="Olga")
    assert team.work.waiting(actor="Ann") == team.work.waiting(actor="Rita") == (0, 0)


def test_nothing_waits_for_who_is_no_member(team: Team) -> None:
    ann = team.sign_in("Ann")
    project = team.start("ice melts", members={"ann@lab.example": "annotator"})
    piece = team.next(project, ann)
    team.work.move(piece.id, "submit", actor=ann)
    team.work.move(piece.id, "send back", actor="Olga", reason="?")
    assert team.work.waiting(actor=ann).work == 1
    team.projects.set_member(project.id, "Bob", "annotator", actor="Olga")
    team.projects.remove_member(project.id, "ann@lab.example", actor="Olga")
    team.work.assign(piece.id, "Bob", actor="Olga")
    with team.database.writing() as connection:  # as an import could have it
        connection.execute(sa.update(schema.pieces).values(annotator=ann, state="in progress"))
    assert team.work.waiting(actor=ann).work == 0


def test_a_submission_that_revealed_the_copies_is_not_undone(team: Team) -> None:
    project = team.start("ice melts", overlap=2, members={"Rita": "reviewer"})
    ann, bob = team.next(project, "Ann"), team.next(project, "Bob")
    team.work.move(ann.id, "submit", actor="Ann")
    assert team.work.move(ann.id, "take back", actor="Ann").state == "in progress"
    team.submit(ann, bob)
    for piece in (ann, bob):
        with pytest.raises(TeamError):
            team.work.move(piece.id, "take back", actor=piece.annotator or "")
    with pytest.raises(TeamError):
        team.work.undo(bob.id, actor="Bob")
    assert team.work.move(ann.id, "send back", actor="Rita", reason="?").state == "sent back"


def test_trees_of_no_project_are_as_ever(team: Team) -> None:
    tree_id = team.log.create(Create(hypothesis="h"), author="Ann")
    assert team.work.piece_of(tree_id, actor="Bob") is None
    assert [tree.id for tree in team.log.viewed_by(team.sign_in("Eve")).trees()] == [tree_id]
    team.log.archive(tree_id, author="Bob")
