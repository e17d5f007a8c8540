"""Progress of a project, over the trees that an actor sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from entail.teams.moves import Piece
from entail.teams.permissions import require
from entail.teams.policy import State
from entail.teams.work import Work
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import Database

IDLE = timedelta(minutes=5)
"""Longest time between two acts that counts as work."""


@dataclass(frozen=True)
class Progress:
    """Progress of a project.

    Attributes:
        states: Number of pieces by state.
        submitted: Number of pieces first submitted, by day (UTC) and annotator.
        active: Time of work by tree, without what is longer than `IDLE` between two acts.
        read_per_accepted: Candidates shown with a judgement, by accepted premise; None without any.
        hours_left: Hours of work that the other pieces take at the pace of the submitted ones; None before.
    """

    states: Mapping[State, int]
    submitted: Mapping[tuple[date, str], int]
    active: Mapping[str, timedelta]
    read_per_accepted: float | None
    hours_left: float | None


def active_time(times: Iterable[datetime]) -> timedelta:
    """Return the time of work between acts, in order of time.

    >>> minutes = [datetime(2026, 1, 1, 12, minute) for minute in (0, 3, 4, 40, 42)]
    >>> active_time(minutes)
    datetime.timedelta(seconds=360)
    """
    total, last = timedelta(), None
    for time in times:
        if last is not None and time - last <= IDLE:
            total += time - last
        last = time
    return total


def measure_progress(database: Database, log: TreeLog, project_id: str, *, actor: str) -> Progress:
    """Return the progress of a project; `TeamError` if the actor may not oversee it."""
    pieces, view = _pieces(database, project_id, actor), log.viewed_by(actor)
    submitted: Counter[tuple[date, str]] = Counter()
    active: dict[str, timedelta] = {}
    done: list[timedelta] = []
    read = accepted = 0
    for piece in pieces:
        if piece.tree_id is None:
            continue
        history, evidence = view.history(piece.tree_id), view.evidence(piece.tree_id)
        active[piece.tree_id] = active_time(event.at for event in history.events)
        for judgement in history.tree.judgements.values():
            accepted += judgement.accepted and judgement.seq in evidence
        read += len({(row.query, candidate.key) for row in evidence.values() for candidate in row.shown})
        if piece.submitted_seq is not None:
            day = history.event(piece.submitted_seq).at.date()
            submitted[day, piece.annotator or ""] += 1
            done.append(active_time(event.at for event in history.events[: piece.submitted_seq]))
    left = sum(piece.submitted_seq is None for piece in pieces)
    mean = sum(done, timedelta()) / len(done) if done else None
    return Progress(
        states=Counter(piece.state for piece in pieces),
        submitted=submitted,
        active=active,
        read_per_accepted=read / accepted if accepted else None,
        hours_left=left * mean.total_seconds() / 3600 if mean is not None else None,
    )


def _pieces(database: Database, project_id: str, actor: str) -> list[Piece]:
    """Return the annotators' pieces that are not dropped."""
    with database.reading() as connection:
        require(connection, actor, "oversee", project_id)
    return [
        piece
        for piece in Work(database).pieces(project_id, actor=actor)
        if piece.id.copy > 0 and piece.state != "dropped"
    ]
