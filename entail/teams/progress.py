"""Progress of a project and agreement on its submitted copies, over the trees that an actor sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from entail.data.text import fold
from entail.teams.agreement import ASPECTS, Agreement, Aspect, agreement, similarity
from entail.teams.judgements import JudgementAgreement, judgement_agreement
from entail.teams.moves import Piece
from entail.teams.permissions import require
from entail.teams.policy import State
from entail.teams.shapes import Shape
from entail.teams.work import Work
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import Tree
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


@dataclass(frozen=True)
class Pair:
    """Similarity of two annotators' trees of a hypothesis: by nodes, see `similarity`."""

    number: int
    first: str
    second: str
    similarity: float


@dataclass(frozen=True)
class ProjectAgreement:
    """Agreement on the copies of a project as they were first submitted.

    Attributes:
        trees: Agreement on trees, by aspect.
        candidates: Agreement on candidates that annotators judged both, of equal nodes.
        pairs: Where they differ: the least similar copies first.
    """

    trees: Mapping[Aspect, Agreement]
    candidates: JudgementAgreement
    pairs: tuple[Pair, ...]


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


def measure_agreement(database: Database, log: TreeLog, project_id: str, *, actor: str) -> ProjectAgreement:
    """Return the agreement on a project's copies; `TeamError` if the actor may not oversee it."""
    view = log.viewed_by(actor)
    trees: dict[int, dict[str, Tree]] = {}
    for piece in _pieces(database, project_id, actor):
        if piece.tree_id is not None and piece.submitted_seq is not None:
            tree = view.history(piece.tree_id).at(piece.submitted_seq).tree
            trees.setdefault(piece.id.number, {})[piece.annotator or ""] = tree
    shapes = {
        number: {name: Shape.of_tree(tree) for name, tree in copies.items()}
        for number, copies in trees.items()
    }
    groups: dict[Hashable, Sequence[Shape]] = {n: list(copies.values()) for n, copies in shapes.items()}
    judged: dict[Hashable, dict[str, bool]] = {}
    for number, copies in trees.items():
        for name, tree in copies.items():
            for (_, key), judgement in tree.judgements.items():
                candidate = (number, fold(judgement.query), key)
                judged.setdefault(candidate, {})[name] = judgement.accepted
    pairs = [
        Pair(number, first, second, similarity(copies[first], copies[second]))
        for number, copies in shapes.items()
        for first in copies
        for second in copies
        if first < second
    ]
    return ProjectAgreement(
        trees={aspect: agreement(groups, aspect) for aspect in ASPECTS},
        candidates=judgement_agreement(judged),
        pairs=tuple(sorted(pairs, key=lambda pair: pair.similarity)),
    )


def _pieces(database: Database, project_id: str, actor: str) -> list[Piece]:
    """Return the annotators' pieces."""
    with database.reading() as connection:
        require(connection, actor, "oversee", project_id)
    return [piece for piece in Work(database).pieces(project_id, actor=actor) if piece.id.copy > 0]
