"""Progress of a project, and agreement on what was submitted."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from entail.teams.progress import measure_progress
from entail.teams.report import measure_agreement
from entail.trees.log.acts import Conclude
from entail.trees.log.tree import ROOT
from entail.trees.store import schema
from tests.teams.conftest import Team, refused

START = datetime(2026, 3, 4, 12, tzinfo=UTC)


def test_progress(team: Team) -> None:
    project = team.start("ice melts", "bees fly", "tea cools", members={"Rita": "reviewer"})
    ann, bob = team.next(project, "Ann"), team.next(project, "Bob")
    team.judge(ann, {"a": True, "b": False, "c": True}, "abcdef")
    with team.database.writing() as connection:
        for seq, minute in enumerate((0, 3, 63, 65), start=1):
            own = (schema.events.c.tree_id == ann.tree_id) & (schema.events.c.seq == seq)
            at = START + timedelta(minutes=minute)
            connection.execute(sa.update(schema.events).where(own).values(at=at))
    team.work.move(ann.id, "submit", actor="Ann")
    progress = measure_progress(team.database, type(team.log)(team.database), project.id, actor="Rita")
    assert progress.states == {"submitted": 1, "in progress": 1, "open": 1}
    assert progress.submitted == {(START.date(), "Ann"): 1}
    assert progress.active == {ann.tree_id: timedelta(minutes=5), bob.tree_id: timedelta()}
    assert progress.read_per_accepted == 3
    assert progress.hours_left == pytest.approx(2 * 5 / 60)
    empty = measure_progress(
        team.database, team.log, team.projects.create("New", author="Rita").id, actor="Rita"
    )
    assert (empty.read_per_accepted, empty.hours_left, empty.states) == (None, None, {})


def test_agreement_is_on_what_was_first_submitted(team: Team) -> None:
    project = team.start("ice melts", "bees fly", overlap=2, members={"Rita": "reviewer"})
    pieces = {
        (p.annotator, p.id.number): p for p in (team.next(project, name) for name in ("Ann", "Bob") * 2)
    }
    for (name, number), piece in pieces.items():
        verdicts = {"a": True, "b": True, "c": True, "d": number == 1 or name == "Ann", "e": False}
        team.judge(piece, verdicts, "abcde")
        if name == "Ann" or number == 1:
            act = Conclude(node=ROOT, premises=("n2", "n3"), text=f"so {name}")
            team.log.act(piece.tree_id or "", act, author=name, base=6)
        team.work.move(piece.id, "submit", actor=name)
    result = measure_agreement(team.database, team.log, project.id, actor="Rita")
    assert [(row.number, row.annotators) for row in result.hypotheses] == [
        (2, ("Ann", "Bob")),
        (1, ("Ann", "Bob")),
    ]
    assert [row.similarity for row in result.hypotheses] == [pytest.approx(6 / 8), 1]
    (pair,) = result.pairs
    assert (pair.first, pair.second, pair.hypotheses) == ("Ann", "Bob", 2)
    assert result.trees["clades"].hypotheses == 2
    assert (result.judgements.n, result.judgements.complete) == (10, 10)
    piece = pieces["Ann", 1]
    team.work.move(piece.id, "send back", actor="Rita", reason="?")
    team.write(piece, "more")
    team.work.move(piece.id, "submit", actor="Ann")
    assert measure_agreement(team.database, team.log, project.id, actor="Rita") == result


def test_figures_are_for_who_oversees_and_without_what_they_do_not_see(team: Team) -> None:
    rita, ann = team.sign_in("Rita"), team.sign_in("Ann")
    members = {"Rita": "reviewer", "Ann": "annotator"}
    project = team.start("ice melts", "bees fly", overlap=2, members=members)
    for measure in (measure_progress, measure_agreement):
        with refused("role"):
            measure(team.database, team.log, project.id, actor=ann)
    own = team.next(project, rita)
    other = team.next(project, ann)
    assert own.id.number == other.id.number
    active = measure_progress(team.database, team.log, project.id, actor=rita).active
    assert active.keys() == {own.tree_id}, "she annotates the hypothesis too"
