"""Rows of jobs, workers and active models, in SQLite and in PostgreSQL."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from entail.errors import DatabaseError
from entail.trees.store.database import open_database
from entail.trees.store.state import JobRow, State, add_moves, adopt_jobs, home_of, lock_moves, read_moves
from tests.trees.conftest import at_once

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROW = JobRow("20260101-000000-abcdef", "mine", True, "queued", NOW, "{}", "status 0")


@pytest.fixture
def state(blank_url: str) -> State:
    return State(blank_url)


def test_reading_makes_nothing(tmp_path: Path) -> None:
    state = State(f"sqlite:///{tmp_path / 'data' / 'entail.db'}")
    assert (state.jobs(), state.moves(), state.workers(), state.events("x")) == ([], [], [], [])
    assert list(tmp_path.iterdir()) == []
    assert state.add_job(ROW)
    assert state.jobs() == [replace(ROW, silence=1e9)]
    open_database(f"sqlite:///{tmp_path / 'data' / 'entail.db'}", read_only=True).close()  # with all tables


def claim(state: State, row: JobRow, machine: str) -> bool:
    return state.change_job(row, beats=True, state="running", attempt=1, machine=machine)


def test_one_of_many_gets_a_job_and_a_name(state: State) -> None:
    assert sum(at_once(lambda n: state.add_job(replace(ROW, id=f"job {n}")), range(6))) == 1
    (row,) = state.jobs()
    assert sum(at_once(lambda n: claim(state, row, n), "abcdef")) == 1
    assert not claim(state, row, "g")
    claimed = state.job(row.id)
    assert claimed.machine in "abcdef"
    assert claimed.silence < 60
    # The name is free again when the job has ended, but not for two at once.
    assert state.change_job(claimed, open=False, state="done", status="status 1")
    assert state.add_job(replace(ROW, id="next"))
    ended = state.job(row.id)
    assert not state.change_job(ended, open=True, state="queued", status="status 2")


def test_a_change_needs_the_status_that_it_was_decided_on(state: State) -> None:
    state.add_job(ROW)
    changes = at_once(lambda n: state.change_job(ROW, status=f"status {n}"), range(1, 7))
    assert sum(changes) == 1
    row = state.job(ROW.id)
    assert row.status == f"status {1 + changes.index(True)}"


def test_only_the_lease_writes(state: State) -> None:
    state.add_job(ROW)
    assert not state.beat(ROW.id, 1)
    assert claim(state, ROW, "a")
    assert state.beat(ROW.id, 1)
    assert state.write_attempt(ROW.id, 1, progress="half")
    for attempt, content in ((1, "one"), (2, "of nobody"), (1, "two")):
        state.add_events(ROW.id, attempt, [content])
    assert not state.write_attempt(ROW.id, 2, progress="all")
    at_once(lambda n: state.add_events(ROW.id, 1, [f"e{n}", f"e{n}"]), range(4))
    events = state.events(ROW.id)
    assert [number for number, _ in events] == list(range(1, 11))
    assert [content for _, content in events][:2] == ["one", "two"]
    assert state.events(ROW.id, after=8, most=1) == [events[8]]
    state.delete_job(ROW.id)
    assert (state.jobs(), state.events(ROW.id)) == ([], [])


def test_queue(state: State) -> None:
    for number, (home, seconds) in enumerate([("here", 3), (None, 2), ("elsewhere", 1), ("here", 2)]):
        queued = NOW + timedelta(seconds=seconds)
        state.add_job(replace(ROW, id=f"{number}", name=f"{number}", home=home, queued=queued))
    assert state.queued_ids("here") == ["1", "3", "0"]
    assert state.job_ids("2") == ["2"]
    assert state.job_ids("%") == []


def test_moves_of_many_follow_each_other(state: State) -> None:
    def move(name: str) -> None:
        with state.writing() as connection:
            lock_moves(connection)
            add_moves(connection, {1 + len(read_moves(connection)): name})

    at_once(move, "abcdef")
    assert sorted(state.moves()) == list("abcdef")


def test_workers(state: State) -> None:
    for content in ("old", "new"):
        state.write_worker("m", content)
    ((machine, content, silence),) = state.workers()
    assert (machine, content) == ("m", "new")
    assert 0 <= silence < 60
    state.delete_worker("m")
    assert state.workers() == []


def test_tables_of_a_newer_version_are_refused(state: State, blank_url: str) -> None:
    state.add_job(ROW)
    with state.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    newer = State(blank_url)
    with pytest.raises(DatabaseError, match="newer"):
        newer.jobs()
    with pytest.raises(DatabaseError, match="newer"):
        newer.add_job(ROW)


def test_restored_jobs_of_another_folder_are_of_this_one(state: State, tmp_path: Path) -> None:
    state.write_worker("m", "old")
    for number, home in enumerate(["gone", None]):
        state.add_job(replace(ROW, id=f"{number}", name=f"{number}", home=home))
    with state.writing() as connection:
        adopt_jobs(connection, tmp_path)
    own = home_of(tmp_path)
    assert (state.queued_ids(own), state.queued_ids("gone"), state.workers()) == (["0", "1"], ["1"], [])
    state.add_job(replace(ROW, id="2", name="2", home="elsewhere"))
    with state.writing() as connection:
        adopt_jobs(connection, tmp_path)
    assert state.queued_ids(own) == ["0", "1"], "machines that share a database keep their own"
