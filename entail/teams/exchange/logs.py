"""Logs of the trees of an exported project: acts with their evidence, moves, choices and named versions.

They go from one installation to another, but not to the Hub: what was removed again need not be published.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Literal

import sqlalchemy as sa

from entail.errors import ActError
from entail.teams.moves import Move, Piece, read_moves
from entail.teams.permissions import PieceId
from entail.teams.policy import RULES
from entail.teams.versions import Version
from entail.trees.log.acts import Event, Evidence, act_to_json, evidence_to_json, parse_act
from entail.trees.log.replay import History, replay
from entail.trees.log.rules import check_create
from entail.trees.store import schema

LOGS = "logs.jsonl"

IMPORT = "import"
"""Action of the last move of an imported piece, which no export has."""

_PARTS, _PEOPLE = ("acts", "moves", "choices", "versions"), ("author", "annotator")
_LARGEST = 2**31


@dataclass(frozen=True)
class _Act:
    author: str
    at: datetime
    act: str
    payload: dict[str, Any]
    evidence: Evidence | None = None


@dataclass(frozen=True)
class _Choice:
    number: int
    choice: Literal["begin", "take", "leave", "offer"]
    difference: str | None
    holders: tuple[str, ...]
    first_seq: int | None
    last_seq: int | None
    author: str
    at: datetime


@dataclass(frozen=True)
class Log:
    """Log of a tree by its id in the export, with the seq at which it was first submitted."""

    tree: str
    submitted_seq: int | None
    acts: tuple[_Act, ...]
    moves: tuple[Move, ...]
    choices: tuple[_Choice, ...]
    versions: tuple[Version, ...]

    @property
    def people(self) -> Iterator[str]:
        """Names of all in it."""
        return (name for _, name in list_people(asdict(self)))


def read_log(
    connection: sa.Connection, piece: Piece, history: History, evidence: Mapping[int, Evidence]
) -> dict[str, Any]:
    """Return the log of the tree of a piece as `Log` has it, in types of JSON.

    Reasons are those of what was sent back: a reviewer wrote them, the others follow from the moves.
    """

    def rows(table: sa.Table, order: str) -> list[dict[str, Any]]:
        query = sa.select(table).where(table.c.tree_id == piece.tree_id).order_by(table.c[order])
        return [dict(row._mapping) for row in connection.execute(query)]

    acts: list[dict[str, Any]] = [
        {"author": event.author, "at": event.at, "act": event.act.kind, "payload": act_to_json(event.act)}
        | {"evidence": evidence_to_json(evidence.get(event.seq))}
        for event in history.events
    ]
    extra = acts[0]["payload"]["source"].get("extra")
    if isinstance(extra, dict):  # an imported tree names who reviewed it there
        extra.pop("review", None)
    moves = [asdict(move) for move in read_moves(connection, piece.id) if move.action != IMPORT]
    return {
        "tree": piece.tree_id,
        "submitted_seq": piece.submitted_seq,
        "acts": acts,
        "moves": [{**move, "reason": move["reason"] * (move["action"] == "send back")} for move in moves],
        "choices": rows(schema.choices, "number"),
        "versions": rows(schema.versions, "name"),
    }


def list_people(log: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names in a log, each after what the person is: author or annotator."""
    for row in chain.from_iterable(log[part] for part in _PARTS):
        yield from ((kind, row[kind]) for kind in _PEOPLE if row.get(kind))


def rename(log: Mapping[str, Any], people: Mapping[str, str]) -> dict[str, Any]:
    """Return a log with other names of people."""
    return {**log, **{part: _rename(log[part], people) for part in _PARTS}}


def _rename(rows: Iterable[Mapping[str, Any]], people: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{**row, **{kind: people[row[kind]] for kind in _PEOPLE if row.get(kind)}} for row in rows]


def to_history(log: Log) -> History:
    """Return the tree of an imported log; no act is verified.

    Raises:
        ValueError: If an act is unknown, or a number out of range.
        TreeError: If an act does not fit the tree before it.
    """
    now, events = datetime.now(UTC), list[Event]()
    for seq, row in enumerate(log.acts, start=1):
        if row.evidence is not None:
            _check_numbers(row.evidence)
        act = parse_act(row.act, json.dumps(row.payload))
        at = min(row.at.astimezone(UTC), now)  # a lease lasts from the last act
        events.append(Event(seq=seq, author=row.author, at=at, act=act, evidence=row.evidence))
    history = replay(events, strict_from=1)
    check_create(history.events[0].act)  # type: ignore[arg-type]  # a log begins with it
    seqs = [log.submitted_seq, *(move.tree_seq for move in log.moves), *(v.seq for v in log.versions)]
    seqs += [seq for choice in log.choices for seq in (choice.first_seq, choice.last_seq)]
    if not all(seq is None or 1 <= seq <= history.seq for seq in seqs):
        raise ActError(f"expected acts from 1 to {history.seq}, found others")
    if unknown := {move.action for move in log.moves} - {*RULES, "undo"}:
        raise ActError(f"expected moves of a piece, found {sorted(unknown)[0][:40]!r}")
    return history


def _check_numbers(evidence: Evidence) -> None:
    numbers = [evidence.corpus_version, *(n or 0 for c in evidence.shown for n in (c.rank, c.retrieved))]
    if max(map(abs, numbers)) >= _LARGEST:
        raise ValueError("expected ranks and versions, found a number beyond them")
    json.dumps(asdict(evidence), allow_nan=False)  # scores


def insert_log(
    connection: sa.Connection, piece: PieceId, log: Log, names: Mapping[str, str], trees: Mapping[str, str]
) -> None:
    """Insert the moves of a piece, and the choices and named versions of its tree.

    Args:
        connection: Connection to the new project's database.
        piece: The piece.
        log: Log of its tree.
        names: Name in the export -> name of the author.
        trees: Id in the export -> id of the new tree.
    """
    moves = [replace(move, seq=at, verified=False) for at, move in enumerate(log.moves, start=1)]
    choices = [
        replace(choice, number=at, holders=tuple(trees[id] for id in choice.holders if id in trees))
        for at, choice in enumerate(log.choices, start=1)
    ]
    parts: tuple[tuple[sa.Table, Iterable[Any], dict[str, Any]], ...] = (
        (schema.moves, moves, piece._asdict()),
        (schema.choices, choices, {"tree_id": trees[log.tree]}),
        (schema.versions, log.versions, {"tree_id": trees[log.tree]}),
    )
    for table, records, owner in parts:
        if rows := [row | owner for row in _rename(map(asdict, records), names)]:
            connection.execute(sa.insert(table), rows)
