"""Event logs of the trees in a database: append with optimistic concurrency, undo, redo, list."""

from __future__ import annotations

import copy
import logging
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Self

import sqlalchemy as sa

from entail.data.stored import parse_as
from entail.errors import ConflictError, CorpusError, DamagedTreeError, TreeError, UnknownTreeError
from entail.memory import Cache
from entail.trees.log.acts import (
    Act,
    AnyAct,
    Create,
    Event,
    Evidence,
    Redo,
    Undo,
    act_to_json,
    evidence_to_json,
    parse_act,
)
from entail.trees.log.replay import History, replay
from entail.trees.log.rules import check, check_create
from entail.trees.log.tree import Review
from entail.trees.store import schema
from entail.trees.store.authors import enter, is_signed_in
from entail.trees.store.copies import hides, keeps_in, require_own, require_writable, select_review
from entail.trees.store.database import Database

DAMAGED_REMEDY = (
    "other trees are not affected: archive this one to set it aside, or restore a backup with "
    "`entail restore FILE --replace`"
)

_log = logging.getLogger(__name__)
_TREE_ID = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class TreeSummary:
    """Summary of a tree: columns of the table `trees`, times in UTC.

    `premises` counts leaves, `steps` nodes with premises, `judgements` those in force; `example` trees ship.
    """

    id: str
    corpus_id: str | None
    hypothesis: str
    seq: int
    created_at: datetime
    created_by: str
    changed_at: datetime
    changed_by: str
    authors: tuple[str, ...]
    premises: int
    steps: int
    judgements: int
    archived: bool
    example: bool


def summarise(history: History) -> dict[str, Any]:
    """Return the columns of the table `trees` that follow from the log."""
    tree = history.tree
    first, last = history.events[0], history.events[-1]
    return {
        "hypothesis": tree.root.text,
        "seq": last.seq,
        "created_at": first.at,
        "created_by": first.author,
        "changed_at": last.at,
        "changed_by": last.author,
        "authors": list(dict.fromkeys(event.author for event in history.events)),
        "premises": sum(node.kind == "premise" for node in tree.nodes.values()),
        "steps": sum(bool(node.children) for node in tree.nodes.values()),
        "judgements": len(tree.judgements),
    }


def read_events(connection: sa.Connection, tree_id: str, *, after: int = 0) -> list[Event]:
    """Return the events of a tree after a seq, in order, without their evidence."""
    table = schema.events
    columns = (table.c.seq, table.c.author, table.c.at, table.c.act, table.c.verified)
    rows = sa.select(*columns, sa.cast(table.c.payload, sa.Text))
    rows = rows.where(table.c.tree_id == tree_id, table.c.seq > after).order_by(table.c.seq)
    events: list[Event] = []
    for seq, author, at, kind, verified, payload in connection.execute(rows):
        try:
            act = parse_act(kind, payload)
        except ValueError as error:
            raise DamagedTreeError(
                f"act {seq} of tree {tree_id} ({kind!r}) is damaged ({error}); {DAMAGED_REMEDY}"
            ) from error
        events.append(Event(seq=seq, author=author, at=at, act=act, verified=verified))
    return events


def read_history(connection: sa.Connection, tree_id: str, *, cache: History | None = None) -> History | None:
    """Return the history of a tree, None without events; of `cache`, only the last event is read."""
    try:
        if cache is not None:
            # The last known event is read again: another log may have been restored under the same id.
            events = read_events(connection, tree_id, after=cache.seq - 1)
            if events and events[0] == cache.events[-1]:
                return cache.extend(events[1:])
        events = read_events(connection, tree_id)
        return replay(events) if events else None
    except DamagedTreeError:
        raise
    except TreeError as error:
        raise DamagedTreeError(f"tree {tree_id} is damaged: {error}; {DAMAGED_REMEDY}") from error


def read_evidence(connection: sa.Connection, tree_id: str) -> tuple[dict[int, Evidence], dict[int, str]]:
    """Return the evidence of a tree's acts by seq, and of damaged evidence the reason by seq."""
    table = schema.events
    rows = sa.select(table.c.seq, sa.cast(table.c.evidence, sa.Text))
    rows = rows.where(table.c.tree_id == tree_id, table.c.evidence.is_not(None))
    evidence: dict[int, Evidence] = {}
    damaged: dict[int, str] = {}
    for seq, text in connection.execute(rows.order_by(table.c.seq)):
        try:
            evidence[seq] = parse_as(Evidence, text)
        except ValueError as error:
            damaged[seq] = str(error)
    return evidence, damaged


def insert_trees(
    connection: sa.Connection,
    acts: Iterable[Create],
    *,
    author: str,
    corpus_id: str | None,
    example: bool = False,
) -> list[str]:
    """Create trees in the caller's transaction and return their ids, in order; raises as `TreeLog.create`."""
    at, name, verified = datetime.now(UTC), enter(connection, author), is_signed_in(author)
    histories = []
    for act in acts:
        check_create(act)
        histories.append(replay([Event(seq=1, author=name, at=at, act=act, verified=verified)]))
    return insert_logs(connection, histories, corpus_id=corpus_id, example=example)


def insert_logs(
    connection: sa.Connection, logs: Sequence[History], *, corpus_id: str | None, example: bool = False
) -> list[str]:
    """Create trees with whole logs in the caller's transaction and return their ids, in order.

    Evidence is that of the events. `CorpusError` if there is no such corpus.
    """
    corpus = sa.select(schema.corpora.c.id).where(schema.corpora.c.id == corpus_id)
    if corpus_id is not None and connection.scalar(corpus) is None:
        raise CorpusError(f"there is no corpus {corpus_id!r}")
    trees: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for history, tree_id in zip(logs, _new_ids(connection, len(logs)), strict=True):
        trees.append({"id": tree_id, "corpus_id": corpus_id, "example": example, **summarise(history)})
        events += (_row(tree_id, event, event.evidence) for event in history.events)
    if trees:
        connection.execute(sa.insert(schema.trees), trees)
        connection.execute(sa.insert(schema.events), events)
    return [tree["id"] for tree in trees]


def _new_ids(connection: sa.Connection, count: int) -> set[str]:
    """Return so many ids of no tree."""
    ids, column = set[str](), schema.trees.c.id
    while len(ids) < count:
        new = {secrets.token_hex(4) for _ in range(min(count - len(ids), 500))}
        ids |= new.difference(connection.scalars(sa.select(column).where(column.in_(new))))
    return ids


def _select_visible(viewer: str | None) -> sa.Select[Any]:
    """Return the query of the trees that a viewer sees."""
    enforced = viewer is not None and is_signed_in(viewer)
    return sa.select(schema.trees).where(~hides(schema.trees.c.id, viewer, enforced=enforced))


def _row(tree_id: str, event: Event, evidence: Evidence | None = None) -> dict[str, Any]:
    return {
        "tree_id": tree_id,
        "seq": event.seq,
        "author": event.author,
        "at": event.at,
        "act": event.act.kind,
        "payload": act_to_json(event.act),
        "evidence": evidence_to_json(evidence),
        "verified": event.verified,
    }


class TreeLog:
    """Trees of a database; one object can be shared by all threads.

    It leaves out the copies that a project hides (see `entail.trees.store.copies`): those from all viewers,
    unless it is `viewed_by` an author who may see them.

    Methods raise `UnknownTreeError` if there is no tree with the id, and `DatabaseError` if the database
    cannot be read or written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.viewer: str | None = None
        self._visible = _select_visible(None)
        self._views: dict[tuple[str | None, bool], Self] = {}
        self._histories: Cache[str, History] = Cache("trees")

    @property
    def writable(self) -> bool:
        """Whether trees can be created here."""
        return not self._database.read_only

    def is_editable(self, tree_id: str) -> bool:
        """Return whether this tree can be changed here."""
        return self.writable

    def _require_editable(self, tree_id: str) -> None:
        """Refuse changes to a tree; every tree of a writable database can be changed."""

    def viewed_by(self, viewer: str | None) -> Self:
        """Return the same log as an author sees it.

        `None` sees what may leave the project, `SignedIn("")` is a visitor where others sign in.
        """
        key = (viewer, viewer is not None and is_signed_in(viewer))
        if key not in self._views:
            view = copy.copy(self)
            view.viewer, view._visible = viewer, _select_visible(viewer)
            self._views[key] = view
        return self._views[key]

    def exportable(self) -> Self:
        """Return the same log without hidden copies and trees of projects that its viewer may not export.

        The operator of this machine, a log without a viewer, may export all.
        """
        view = copy.copy(self)
        view._visible = _select_visible(None)
        if self.viewer is not None:
            kept_in = keeps_in(schema.trees.c.id, self.viewer, enforced=is_signed_in(self.viewer))
            view._visible = view._visible.where(~kept_in)
        return view

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of this thread inside the block see one state, in one transaction."""
        with self._database.snapshot():
            yield

    def create(self, act: Create, *, author: str, corpus_id: str | None = None, example: bool = False) -> str:
        """Create a tree and return its id; `ActError` or `CorpusError` if an argument is invalid."""
        return self.create_all([act], author=author, corpus_id=corpus_id, example=example)[0]

    def create_all(
        self, acts: Iterable[Create], *, author: str, corpus_id: str | None = None, example: bool = False
    ) -> list[str]:
        """Create trees, all or none, and return their ids in order; raises as `create`."""
        with self._database.writing() as connection:
            return insert_trees(connection, acts, author=author, corpus_id=corpus_id, example=example)

    def history(self, tree_id: str) -> History:
        """Return a tree with its whole log; only new events are read from the database."""
        with self._database.reading() as connection:
            self._tree_row(connection, tree_id)
            history = self._current(connection, tree_id)
        self._cache(tree_id, history)
        return history

    def histories(self, tree_ids: Iterable[str]) -> Iterator[tuple[str, History]]:
        """Yield id and history of the trees that are not damaged; the log of the program names the others."""
        for tree_id in tree_ids:
            try:
                yield tree_id, self.history(tree_id)
            except DamagedTreeError as error:
                _log.warning("a tree is left out: %s", error)

    def act(
        self, tree_id: str, act: Act, *, author: str, base: int, evidence: Evidence | None = None
    ) -> History:
        """Save an act that the author made on the tree at seq `base`; it is on disk on return.

        Raises:
            ConflictError: If a later event conflicts with the act; nothing is saved.
            ActError: If the act is invalid on the current tree.
        """
        return self.act_all(tree_id, [act], author=author, base=base, evidence=evidence)

    def act_all(
        self,
        tree_id: str,
        acts: Sequence[Act],
        *,
        author: str,
        base: int,
        evidence: Evidence | None = None,
        note: Callable[[sa.Connection, Sequence[Event]], None] | None = None,
    ) -> History:
        """Save acts that belong together, all or none; raises as `act`, of several after any later event.

        Args:
            tree_id: The tree.
            acts: The acts; a later one may build on those before.
            author: Who made them.
            base: Version that the author saw.
            evidence: Evidence of the last one.
            note: Writes what else belongs to the events, in the same transaction.
        """

        def decide(history: History, _author: str) -> Sequence[Act]:
            if len(acts) > 1 and (later := history.events[base:]):  # they may name nodes that they make
                changes = tuple(history.describe(event, with_author=True) for event in later)
                raise ConflictError(f"not saved: {'; '.join(changes)}", changes=changes)
            history.check_current(acts[0], base=base)
            return acts

        return self._append(tree_id, author, decide, evidence, note)

    def undo(self, tree_id: str, *, author: str) -> History:
        """Undo the author's last act; raise `UndoError` if there is none, or a later act depends on it."""
        return self._append(tree_id, author, lambda history, name: [history.plan_undo(name)])

    def redo(self, tree_id: str, *, author: str) -> History:
        """Redo the act that the author undid last; raises as `undo`."""
        return self._append(tree_id, author, lambda history, name: [history.plan_redo(name)])

    def evidence(self, tree_id: str) -> Mapping[int, Evidence]:
        """Return the evidence of the judgements by seq, without what is damaged."""
        with self._database.reading() as connection:
            self._tree_row(connection, tree_id)
            return read_evidence(connection, tree_id)[0]

    def review(self, tree_id: str) -> Review | None:
        """Return the stand of a tree in its project, None if it belongs to none."""
        with self._database.reading() as connection:
            self._tree_row(connection, tree_id)
            row = connection.execute(select_review(tree_id)).first()
        return Review(**row._mapping) if row is not None else None

    def summary(self, tree_id: str) -> TreeSummary:
        """Return the summary of a tree."""
        with self._database.reading() as connection:
            return _summary(self._tree_row(connection, tree_id))

    def trees(
        self, *, corpus_id: str | None = None, archived: bool | None = False, examples: bool = True
    ) -> list[TreeSummary]:
        """Return the trees of one corpus or all, the last changed first, archived or not (None: both)."""
        trees = schema.trees.c
        query = self._visible.order_by(trees.changed_at.desc(), trees.hypothesis, trees.id)
        if archived is not None:
            query = query.where(trees.archived_at.is_not(None) if archived else trees.archived_at.is_(None))
        if not examples:
            query = query.where(trees.example.is_(False))
        if corpus_id is not None:
            query = query.where(trees.corpus_id == corpus_id)
        with self._database.reading() as connection:
            return [_summary(row) for row in connection.execute(query)]

    def archive(self, tree_id: str, *, author: str, archived: bool = True) -> None:
        """Archive or restore a tree of no project; its log is unchanged."""
        self._require_editable(tree_id)
        with self._database.writing() as connection:
            self._tree_row(connection, tree_id)
            require_own(connection, tree_id)
            by = enter(connection, author) if archived else None
            values = {"archived_at": datetime.now(UTC) if archived else None, "archived_by": by}
            connection.execute(sa.update(schema.trees).where(schema.trees.c.id == tree_id).values(values))

    def _append(
        self,
        tree_id: str,
        author: str,
        decide: Callable[[History, str], Sequence[AnyAct]],
        evidence: Evidence | None = None,
        note: Callable[[sa.Connection, Sequence[Event]], None] | None = None,
    ) -> History:
        self._require_editable(tree_id)
        with self._database.writing() as connection:
            self._tree_row(connection, tree_id, lock=True)
            name = enter(connection, author)
            require_writable(connection, tree_id, name, enforced=is_signed_in(author))
            before = after = self._current(connection, tree_id)
            for act in decide(before, name):
                if after is not before and not isinstance(act, Undo | Redo):
                    check(after.tree, act)
                # Times are monotonic even if a clock was set back or another machine's differs.
                at = max(datetime.now(UTC), after.events[-1].at)
                event = Event(seq=after.seq + 1, author=name, at=at, act=act, verified=is_signed_in(author))
                after = after.extend([event])
            new = after.events[before.seq :]
            rows = [_row(tree_id, event, evidence if event is new[-1] else None) for event in new]
            connection.execute(sa.insert(schema.events), rows)
            if note is not None:
                note(connection, new)
            connection.execute(
                sa.update(schema.trees).where(schema.trees.c.id == tree_id).values(summarise(after))
            )
        self._cache(tree_id, after)
        return after

    def _current(self, connection: sa.Connection, tree_id: str) -> History:
        """Return the history in this transaction."""
        cached_history = self._histories.get(tree_id)
        if history := _TREE_ID.fullmatch(tree_id) and read_history(connection, tree_id, cache=cached_history):
            return history
        raise UnknownTreeError(f"there is no tree {tree_id!r}; it may be in another database")

    def _cache(self, tree_id: str, history: History) -> None:
        cached = self._histories.get(tree_id)
        if cached is history:
            return
        if cached is None or cached.seq <= history.seq or cached.event(history.seq) != history.events[-1]:
            self._histories.put(tree_id, history)

    def _tree_row(self, connection: sa.Connection, tree_id: str, *, lock: bool = False) -> sa.Row[Any]:
        """Return the row of a tree if the viewer sees it, or locked, for `require_writable` to decide on."""
        query = sa.select(schema.trees).with_for_update() if lock else self._visible
        query = query.where(schema.trees.c.id == tree_id)
        if row := _TREE_ID.fullmatch(tree_id) and connection.execute(query).first():
            return row
        raise UnknownTreeError(f"there is no tree {tree_id!r}; it may be in another database")


def _summary(row: sa.Row[Any]) -> TreeSummary:
    columns: dict[str, Any] = {field.name: row._mapping.get(field.name) for field in fields(TreeSummary)}
    # Damaged ones are none; the next act writes them again.
    authors = tuple(map(str, row.authors)) if isinstance(row.authors, list) else ()
    return TreeSummary(**{**columns, "authors": authors, "archived": row.archived_at is not None})
