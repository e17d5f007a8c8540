"""Versioned corpora: every change makes a version, and every version can be read."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from entail.data.premises import SCHEMA, Premises, table_of
from entail.data.records import Corpus, Premise
from entail.data.text import SURROGATES, clean_premise, premise_key, quote
from entail.errors import CorpusError
from entail.memory import Cache
from entail.progress import Meter, ProgressCallback
from entail.settings import load_settings
from entail.trees.store import schema
from entail.trees.store.authors import enter, fold_name, is_signed_in
from entail.trees.store.database import Database
from entail.trees.store.search import ID, TEXT, add_words, matches

LONGEST_NAME = 100
COUNTED = 10_000
"""Premises of a search that are counted; who sees more looks for another word."""

_SAMPLE = 1_000  # premises whose columns count as those of the corpus
_BLOCK = 10_000  # premises that are inserted at once
_READ = 100_000  # premises that are read at once
_ARCHIVE = "archive"  # the change that archives a corpus; any other brings it back


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """Summary of a corpus: newest version with `count` premises, author and time (UTC) of its creation."""

    id: str
    name: str
    version: int
    count: int
    licence: str
    source: str
    created_at: datetime
    created_by: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class CorpusChange:
    """Change that made a version of a corpus: `create`, `add`, `correct`, `retire`, `archive` or `restore`.

    `first_added` and `first_retired` are texts, None without one; a correction retires the old text.
    """

    version: int
    change: str
    author: str
    at: datetime
    added: int
    retired: int
    first_added: str | None
    first_retired: str | None
    verified: bool = False


class CorpusStore:
    """Corpora of a database; one object can be shared by all threads.

    Methods raise `CorpusError` if there is no such corpus, version or premise, or if a name or a text is
    invalid or taken, and `DatabaseError` if the database cannot be read or written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._versions: Cache[tuple[str, int, datetime], _Version] = Cache("corpora")
        self._opening: dict[str, threading.Lock] = {}

    def add_corpus(
        self,
        corpus: Corpus,
        *,
        author: str,
        licence: str = "",
        source: str = "",
        progress: ProgressCallback | None = None,
    ) -> CorpusInfo:
        """Add a corpus, in its order, as version 1."""
        options: dict[str, Any] = {"licence": licence, "source": source, "progress": progress}
        with self._database.writing() as connection:
            return insert_corpus(connection, corpus, author=author, **options)

    def corpora(self, *, archived: bool | None = False) -> list[CorpusInfo]:
        """Return the corpora by name: only archived ones, only others, or with None both."""
        query = _INFO.order_by(schema.corpora.c.folded)
        if archived is not None:
            query = query.where(_IS_ARCHIVED if archived else ~_IS_ARCHIVED)
        with self._database.reading() as connection:
            return [CorpusInfo(*row) for row in connection.execute(query)]

    def find(self, name: str) -> CorpusInfo:
        """Return the summary of a corpus by its name or id; `CorpusError` lists the known ones."""
        infos = self.corpora(archived=None)
        for info in infos:
            if name in (info.name, info.id):
                return info
        names = ", ".join(info.name for info in infos) or "none"
        raise CorpusError(f"there is no corpus {name!r}; known: {names}")

    def info(self, corpus_id: str) -> CorpusInfo:
        """Return the summary of a corpus."""
        with self._database.reading() as connection:
            return _read_info(connection, corpus_id)

    def corpus(self, corpus_id: str, *, version: int | None = None) -> Corpus:
        """Return the premises of a version, the newest by default; later versions append at the end."""
        cached = self._open(corpus_id, version, read=False)
        if cached is not None:
            return cached
        # Of several requests for a large corpus the first reads it, which takes seconds; the others wait.
        with self._opening.setdefault(corpus_id, threading.Lock()):
            corpus = self._open(corpus_id, version, read=True)
        assert corpus is not None
        return corpus

    def _open(self, corpus_id: str, version: int | None, *, read: bool) -> Corpus | None:
        """Return the premises of a version from memory, else read them; None if they shall not be read."""
        changes = schema.corpus_changes.c
        with self._database.reading() as connection:
            info = _read_info(connection, corpus_id)
            number = info.version if version is None else version
            if not 1 <= number <= info.version:
                raise CorpusError(f"{info.name!r} has the versions 1 to {info.version}, found {number}")
            versions = dict(self._versions.items())
            cached = [slot[1] for slot in versions if slot[0] == corpus_id and slot[1] < number]
            query = sa.select(changes.version, changes.at).where(
                changes.corpus_id == corpus_id, changes.version.in_({number, *cached})
            )
            # With the time, since another corpus may be restored under the same id.
            slots = [(corpus_id, *row) for row in connection.execute(query.order_by(changes.version.desc()))]
            base = next((slot for slot in slots if slot in versions), None)
            before = self._versions.get(base) if base else None
            if before is None or before.number != number:
                if not read:
                    return None
                before = _read_version(connection, info, number, before)
                self._versions.put(slots[0], before)
        return before.corpus

    def columns(self, corpus_id: str) -> list[str]:
        """Return the names of the columns that the first premises have next to their texts."""
        rows = self.find_premises(corpus_id, limit=_SAMPLE)[0]
        names = list(dict.fromkeys(name for premise in rows for name, _ in premise.extra))
        return [ID, *names] if any(premise.source_id for premise in rows) else names

    def find_premises(
        self, corpus_id: str, words: str = "", *, column: str = TEXT, start: int = 0, limit: int
    ) -> tuple[list[Premise], int]:
        """Return a part of the premises in force that have the words, and how many there are.

        No more than `COUNTED` and one are counted. The words are looked for in a column: the `TEXT`, the
        `ID`, a further one by its name, or in `ALL`.
        """
        premises = schema.premises.c
        with self._database.reading() as connection:
            count = _read_info(connection, corpus_id).count
            condition = (premises.corpus_id == corpus_id) & premises.retired.is_(None)
            condition &= matches(connection, corpus_id, words, column)
            query: sa.Select[Any] = sa.select(premises.text, premises.source_id, premises.extra).where(
                condition
            )
            rows = connection.execute(query.order_by(premises.position).offset(start).limit(limit))
            part = list(map(_read_premise, rows))
            if words.strip():
                few = sa.select(sa.literal(1)).where(condition).limit(COUNTED + 1).subquery()
                count = connection.scalar(sa.select(sa.func.count()).select_from(few)) or 0
        return part, count

    def add(self, corpus_id: str, texts: Iterable[str | Premise], *, author: str) -> CorpusInfo:
        """Append premises; repeated ones are added once."""
        premises = [text if isinstance(text, Premise) else Premise(clean_premise(text)) for text in texts]
        _check_premises(premises)
        added = Corpus.of("added", premises)
        if not added:
            raise CorpusError("there is nothing to add; expected at least one premise")
        with self._changing(corpus_id, added.keys) as (connection, info, live):
            if live:
                first = next(text for key, text in zip(added.keys, added.texts, strict=True) if key in live)
                raise CorpusError(
                    f"{len(live)} of {len(added)} are in {info.name!r} already (the first: {quote(first)}); "
                    "nothing was added"
                )
            return _insert_version(connection, corpus_id, "add", author, added=added)

    def correct(self, corpus_id: str, key: str, text: str, *, author: str) -> CorpusInfo:
        """Retire the premise with this key and add the corrected text at the end, in one version."""
        text = clean_premise(text)
        _check_premises([Premise(text)])
        with self._changing(corpus_id, [key, premise_key(text)]) as (connection, info, live):
            if key not in live:
                raise CorpusError(f"{info.name!r} has no premise {key!r}; it may have been retired")
            if premise_key(text) in live:
                raise CorpusError(f"{quote(text)} is in {info.name!r} already; nothing was corrected")
            new = Corpus("corrected", (replace(live[key], text=text),))
            return _insert_version(
                connection, corpus_id, "correct", author, added=new, retired=[key], corrects=key
            )

    def retire(self, corpus_id: str, keys: Iterable[str], *, author: str) -> CorpusInfo:
        """Retire premises; older versions and trees keep them."""
        retired = list(dict.fromkeys(keys))
        with self._changing(corpus_id, retired) as (connection, info, live):
            if missing := [key for key in retired if key not in live]:
                raise CorpusError(f"{info.name!r} has no premise {missing[0]!r}; it may have been retired")
            if not 0 < len(retired) < info.count:
                raise CorpusError(
                    f"expected at least one premise to stay in {info.name!r}, found {len(retired)} of "
                    f"{info.count} to retire; correct them, or archive the corpus"
                )
            return _insert_version(connection, corpus_id, "retire", author, retired=retired)

    def archive(self, corpus_id: str, *, author: str, archived: bool = True) -> CorpusInfo:
        """Hide a corpus from lists, or restore it; its premises and trees stay, and any edit restores it."""
        with self._database.writing() as connection:
            _read_info(connection, corpus_id, lock=True)
            info = _read_info(connection, corpus_id)  # with the change that was waited for
            if info.archived == archived:
                return info
            return _insert_version(connection, corpus_id, _ARCHIVE if archived else "restore", author)

    def changes(self, corpus_id: str, *, limit: int | None = None) -> list[CorpusChange]:
        """Return the versions of a corpus, the newest first."""
        changes, premises = schema.corpus_changes.c, schema.premises.c
        names = ("version", "change", "author", "at", "added", "retired")
        # Premises are appended, so that the counts tell where those of a version begin.
        begin = sa.func.sum(changes.added).over(order_by=changes.version) - changes.added
        columns = (*(changes[name] for name in names), changes.verified, begin.label("begin"))
        rows = sa.select(*columns).where(changes.corpus_id == corpus_id).subquery().c

        def first_text(condition: sa.ColumnElement[bool]) -> sa.ScalarSelect[str]:
            texts = sa.select(premises.text).where(premises.corpus_id == corpus_id, condition)
            return texts.order_by(premises.position).limit(1).scalar_subquery()

        added = sa.case((rows.added > 0, first_text(premises.position == rows.begin)))
        retired = sa.case((rows.retired > 0, first_text(premises.retired == rows.version)))
        query: sa.Select[Any] = sa.select(*(rows[name] for name in names), added, retired, rows.verified)
        with self._database.reading() as connection:
            _read_info(connection, corpus_id)
            newest = connection.execute(query.order_by(rows.version.desc()).limit(limit))
            return [CorpusChange(*row) for row in newest]

    @contextmanager
    def _changing(
        self, corpus_id: str, keys: Sequence[str]
    ) -> Iterator[tuple[sa.Connection, CorpusInfo, Mapping[str, Premise]]]:
        """Yield a locked corpus: connection, summary, and those of the premises that are in force, by key."""
        premises = schema.premises.c
        columns = (premises.key, premises.text, premises.source_id, premises.extra)
        query: sa.Select[Any] = sa.select(*columns).where(
            premises.corpus_id == corpus_id, premises.retired.is_(None)
        )
        with self._database.writing() as connection:
            _read_info(connection, corpus_id, lock=True)
            info = _read_info(connection, corpus_id)  # with the change that was waited for
            live: dict[str, Premise] = {}
            for start in range(0, len(keys), _BLOCK):
                rows = connection.execute(query.where(premises.key.in_(keys[start : start + _BLOCK])))
                live |= {row.key: _read_premise(row) for row in rows}
            yield connection, info, live


def insert_corpus(
    connection: sa.Connection,
    corpus: Corpus,
    *,
    author: str,
    licence: str = "",
    source: str = "",
    corpus_id: str | None = None,
    progress: ProgressCallback | None = None,
) -> CorpusInfo:
    """Add a corpus in the caller's transaction; raises as `CorpusStore.add_corpus`."""
    name = _clean_name(corpus.name)
    if not corpus.premises:
        raise CorpusError(f"the corpus {name!r} has no premise; expected at least one")
    _check_premises(corpus.premises)
    _check_storable(f"{licence}{source}", "the licence or source of a corpus")
    table = schema.corpora
    if connection.scalar(sa.select(table.c.id).where(table.c.folded == fold_name(name))) is not None:
        raise CorpusError(
            f"a corpus {name!r} exists already, maybe archived; choose another name or add to it"
        )
    corpus_id = corpus_id or secrets.token_hex(4)
    row = {"id": corpus_id, "name": name, "folded": fold_name(name), "version": 0, "count": 0}
    connection.execute(sa.insert(table).values(**row, licence=licence.strip(), source=source.strip()))
    return _insert_version(connection, corpus_id, "create", author, added=corpus, progress=progress)


def _clean_name(name: str) -> str:
    """Return the name with white space normalised; refuse one that could be taken for a path."""
    clean = " ".join(name.split())
    if not 1 <= len(clean) <= LONGEST_NAME or not clean.isprintable() or re.search(r"[/\\]|^\.", clean):
        raise CorpusError(
            f"expected a name of 1 to {LONGEST_NAME} visible characters, none of them / or \\, the first no "
            f"dot, found {clean!r}"
        )
    return clean


def _check_premises(premises: Iterable[Premise]) -> None:
    longest = load_settings().max_premise_chars
    for premise in premises:
        text = premise.text
        if len(text) > longest:
            raise CorpusError(
                f"a premise has at most {longest:,} characters, found {len(text):,} in {quote(text)}; "
                "split it, or set ENTAIL_MAX_PREMISE_CHARS"
            )
        if not text.strip():
            raise CorpusError("the premise is empty")
        _check_storable("".join((text, premise.source_id or "", *chain(*premise.extra))), "a premise")


def _check_storable(text: str, field: str) -> None:
    if "\0" in text:
        raise CorpusError(f"{field} cannot hold a NUL character: {quote(text.replace(chr(0), '␀'))}")
    if SURROGATES.search(text):
        raise CorpusError(f"{field} has invalid Unicode (unpaired surrogate); see how its file was encoded")


_LAST = schema.corpus_changes.alias("last")

# Not joined: after a wait for the row, PostgreSQL knows its new version but not yet the change that made it.
_IS_ARCHIVED = (
    sa.select(_LAST.c.change)
    .where(_LAST.c.corpus_id == schema.corpora.c.id)
    .order_by(_LAST.c.version.desc())
    .limit(1)
    .scalar_subquery()
) == _ARCHIVE

_INFO: sa.Select[Any] = sa.select(
    *(schema.corpora.c[name] for name in ("id", "name", "version", "count", "licence", "source")),
    schema.corpus_changes.c.at,
    schema.corpus_changes.c.author,
    _IS_ARCHIVED,
).join(
    schema.corpus_changes,
    (schema.corpus_changes.c.corpus_id == schema.corpora.c.id) & (schema.corpus_changes.c.version == 1),
)


def _read_info(connection: sa.Connection, corpus_id: str, *, lock: bool = False) -> CorpusInfo:
    """Return the summary of a corpus; with `lock`, others cannot change it until the transaction ends."""
    query = _INFO.where(schema.corpora.c.id == corpus_id)
    if lock:
        query = query.with_for_update(of=schema.corpora)
    row = connection.execute(query).first() if corpus_id.isascii() else None
    if row is None:
        raise CorpusError(f"there is no corpus {corpus_id!r}; it may be in another database")
    return CorpusInfo(*row)


@dataclass(frozen=True, slots=True)
class _Version:
    """Version of a corpus, and the positions of its premises in the database."""

    number: int
    corpus: Corpus
    rows: NDArray[np.int64]

    @property
    def size_bytes(self) -> int:
        """Bytes of texts, keys and positions; versions share texts, which count for each."""
        columns = self.corpus.columns
        return int(columns.table.nbytes) + 3 * columns.numbers.nbytes + self.rows.nbytes


def _read_version(
    connection: sa.Connection, info: CorpusInfo, number: int, before: _Version | None
) -> _Version:
    """Return a version; of one after `before` only what changed is read."""
    premises = schema.premises.c
    of_corpus = premises.corpus_id == info.id
    in_force = of_corpus & (premises.added <= number)
    in_force &= premises.retired.is_(None) | (premises.retired > number)
    if before is None:
        columns, rows = _read_columns(connection, in_force)
        return _Version(number, Corpus(info.name, columns), rows)
    is_new = (premises.position > int(before.rows[-1])) & (premises.added > before.number)
    added, added_rows = _read_columns(connection, in_force & is_new)
    is_gone = (premises.retired > before.number) & (premises.retired <= number)
    gone = sa.select(premises.position).where(of_corpus, is_gone, premises.added <= before.number)
    positions = np.array(connection.scalars(gone.order_by(premises.position)).all(), dtype=np.int64)
    retired = np.searchsorted(before.rows, positions)
    corpus = Corpus(info.name, before.corpus.columns.changed(added, retired))
    return _Version(number, corpus, np.concatenate([np.delete(before.rows, retired), added_rows]))


def _read_columns(
    connection: sa.Connection, condition: sa.ColumnElement[bool]
) -> tuple[Premises, NDArray[np.int64]]:
    """Return premises as columns, keys as they are stored, and their positions in the database."""
    premises = schema.premises.c
    extra = sa.cast(premises.extra, sa.Text)
    query = sa.select(premises.position, premises.key, premises.text, premises.source_id, extra)
    query = query.where(condition).order_by(premises.position)
    cursor = connection.execute(query).cursor  # of the driver: no type needs work, and rows cost half
    parts = [Premises.of_rows([], SCHEMA.empty_table())]
    rows = [np.empty(0, dtype=np.int64)]
    while cursor is not None and (block := cursor.fetchmany(_READ)):
        positions, keys, *cells = zip(*block, strict=True)
        rows.append(np.array(positions, dtype=np.int64))
        parts.append(Premises.of_rows(keys, table_of(cells, rows=len(keys))))
    return Premises.joined(parts), np.concatenate(rows)


def _read_premise(row: Any) -> Premise:
    return Premise(row.text, row.source_id, tuple((row.extra or {}).items()))


def _insert_version(
    connection: sa.Connection,
    corpus_id: str,
    change: str,
    author: str,
    *,
    added: Corpus | None = None,
    retired: Sequence[str] = (),
    corrects: str | None = None,
    progress: ProgressCallback | None = None,
) -> CorpusInfo:
    """Insert the next version of a corpus, which the caller has locked: retire keys, append premises."""
    corpora, changes, premises = schema.corpora, schema.corpus_changes, schema.premises
    version = 1 + (connection.scalar(sa.select(corpora.c.version).where(corpora.c.id == corpus_id)) or 0)
    counts = {"added": len(added or ()), "retired": len(retired)}
    by = {"author": enter(connection, author), "at": datetime.now(UTC), "verified": is_signed_in(author)}
    connection.execute(
        sa.insert(changes).values(corpus_id=corpus_id, version=version, change=change, **counts, **by)
    )
    if retired:
        of_key = (premises.c.key == sa.bindparam("gone")) & premises.c.retired.is_(None)
        update = sa.update(premises).where(premises.c.corpus_id == corpus_id, of_key)
        connection.execute(update.values(retired=version), [{"gone": key} for key in retired])
    if added:
        last = sa.select(sa.func.max(premises.c.position)).where(premises.c.corpus_id == corpus_id)
        position = connection.scalar(last)
        meter = Meter(len(added), "saving", unit="premises", report=progress)
        pairs = zip(added.keys, added.premises, strict=True)
        rows = (
            {"corpus_id": corpus_id, "position": at, "key": key, "text": premise.text}
            | {"source_id": premise.source_id, "extra": dict(premise.extra) or None}
            | {"added": version, "corrects": corrects}
            for at, (key, premise) in enumerate(pairs, start=0 if position is None else position + 1)
        )
        while block := list(islice(rows, _BLOCK)):
            connection.execute(sa.insert(premises), block)
            add_words(connection, block)
            meter.add(len(block))
    connection.execute(
        sa.update(corpora)
        .where(corpora.c.id == corpus_id)
        .values(version=version, count=corpora.c.count + counts["added"] - counts["retired"])
    )
    return _read_info(connection, corpus_id)
