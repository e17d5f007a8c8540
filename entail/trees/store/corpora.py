"""Versioned corpora: every change makes a version, and every version can be read."""

from __future__ import annotations

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.data.text import SURROGATES, clean_premise, fold, quote
from entail.errors import CorpusError
from entail.progress import Meter, ProgressCallback
from entail.settings import load_settings
from entail.trees.store import schema
from entail.trees.store.authors import enter, fold_name, is_signed_in
from entail.trees.store.database import Database

LONGEST_NAME = 100
CACHED_CORPORA = 8
_BLOCK = 10_000  # premises that are inserted at once
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
        self._corpora: OrderedDict[tuple[str, int, datetime | None], Corpus] = OrderedDict()
        self._lock = threading.Lock()

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
        changes, premises = schema.corpus_changes.c, schema.premises.c
        with self._database.reading() as connection:
            info = _read_info(connection, corpus_id)
            number = info.version if version is None else version
            if not 1 <= number <= info.version:
                raise CorpusError(f"{info.name!r} has the versions 1 to {info.version}, found {number}")
            at = connection.scalar(
                sa.select(changes.at).where(changes.corpus_id == corpus_id, changes.version == number)
            )
            # With the time, since another corpus may be restored under the same id.
            slot = (corpus_id, number, at)
            with self._lock:
                if slot in self._corpora:
                    self._corpora.move_to_end(slot)
                    return self._corpora[slot]
            rows = connection.execute(_select_premises(corpus_id, number).order_by(premises.position))
            corpus = Corpus(info.name, tuple(map(_read_premise, rows)))
        with self._lock:
            self._corpora[slot] = corpus
            while len(self._corpora) > CACHED_CORPORA:
                self._corpora.popitem(last=False)
        return corpus

    def add(self, corpus_id: str, texts: Iterable[str | Premise], *, author: str) -> CorpusInfo:
        """Append premises; repeated ones are added once."""
        premises = [text if isinstance(text, Premise) else Premise(clean_premise(text)) for text in texts]
        _check_premises(premises)
        added = Corpus.of("added", premises)
        with self._changing(corpus_id) as (connection, name, live):
            if duplicates := [p for p in added.premises if p.key in live]:
                raise CorpusError(
                    f"{len(duplicates)} of {len(added)} are in {name!r} already (the first: "
                    f"{quote(duplicates[0].text)}); nothing was added"
                )
            if not added:
                raise CorpusError("there is nothing to add; expected at least one premise")
            return _insert_version(connection, corpus_id, "add", author, added=added)

    def correct(self, corpus_id: str, key: str, text: str, *, author: str) -> CorpusInfo:
        """Retire the premise with this key and add the corrected text at the end, in one version."""
        text = clean_premise(text)
        _check_premises([Premise(text)])
        with self._changing(corpus_id) as (connection, name, live):
            if key not in live:
                raise CorpusError(f"{name!r} has no premise {key!r}; it may have been retired")
            premise = replace(live[key], text=text)
            if premise.key in live:
                raise CorpusError(f"{quote(text)} is in {name!r} already; nothing was corrected")
            new = Corpus("corrected", (premise,))
            return _insert_version(
                connection, corpus_id, "correct", author, added=new, retired=[key], corrects=key
            )

    def retire(self, corpus_id: str, keys: Iterable[str], *, author: str) -> CorpusInfo:
        """Retire premises; older versions and trees keep them."""
        retired = list(dict.fromkeys(keys))
        with self._changing(corpus_id) as (connection, name, live):
            if missing := [key for key in retired if key not in live]:
                raise CorpusError(f"{name!r} has no premise {missing[0]!r}; it may have been retired")
            if not 0 < len(retired) < len(live):
                raise CorpusError(f"expected 1 to {len(live) - 1} of the premises of {name!r} to retire")
            return _insert_version(connection, corpus_id, "retire", author, retired=retired)

    def archive(self, corpus_id: str, *, author: str, archived: bool = True) -> CorpusInfo:
        """Hide a corpus from lists, or restore it; its premises and trees stay, and any edit restores it."""
        with self._database.writing() as connection:
            _read_info(connection, corpus_id, lock=True)
            info = _read_info(connection, corpus_id)  # with the change that was waited for
            if info.archived == archived:
                return info
            return _insert_version(connection, corpus_id, _ARCHIVE if archived else "restore", author)

    def changes(self, corpus_id: str) -> list[CorpusChange]:
        """Return the versions of a corpus, the newest first."""
        changes, premises = schema.corpus_changes.c, schema.premises.c

        def first_text(column: sa.Column[int]) -> sa.ScalarSelect[str]:
            texts = sa.select(premises.text).where(premises.corpus_id == corpus_id, column == changes.version)
            return texts.order_by(premises.position).limit(1).scalar_subquery()

        columns = (
            changes.version,
            changes.change,
            changes.author,
            changes.at,
            changes.added,
            changes.retired,
        )
        texts = (first_text(premises.added), first_text(premises.retired))
        query = sa.select(*columns, *texts, changes.verified).where(changes.corpus_id == corpus_id)
        with self._database.reading() as connection:
            _read_info(connection, corpus_id)
            return [CorpusChange(*row) for row in connection.execute(query.order_by(changes.version.desc()))]

    @contextmanager
    def _changing(self, corpus_id: str) -> Iterator[tuple[sa.Connection, str, Mapping[str, Premise]]]:
        """Yield a locked corpus: connection, name, and its premises by key."""
        with self._database.writing() as connection:
            info = _read_info(connection, corpus_id, lock=True)
            rows = connection.execute(_select_premises(corpus_id, info.version))
            yield connection, info.name, {row.key: _read_premise(row) for row in rows}


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
        if not fold(text):
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


def _in_version(corpus_id: str, version: int) -> sa.ColumnElement[bool]:
    premises = schema.premises.c
    return sa.and_(
        premises.corpus_id == corpus_id,
        premises.added <= version,
        sa.or_(premises.retired.is_(None), premises.retired > version),
    )


def _select_premises(corpus_id: str, version: int) -> sa.Select[Any]:
    premises = schema.premises.c
    columns = (premises.key, premises.text, premises.source_id, premises.extra)
    return sa.select(*columns).where(_in_version(corpus_id, version))


def _read_premise(row: sa.Row[Any]) -> Premise:
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
        rows = (
            {"corpus_id": corpus_id, "position": at, "key": premise.key, "text": premise.text}
            | {"source_id": premise.source_id, "extra": dict(premise.extra) or None}
            | {"added": version, "corrects": corrects}
            for at, premise in enumerate(added.premises, start=0 if position is None else position + 1)
        )
        while block := list(islice(rows, _BLOCK)):
            connection.execute(sa.insert(premises), block)
            meter.add(len(block))
    connection.execute(
        sa.update(corpora)
        .where(corpora.c.id == corpus_id)
        .values(version=version, count=corpora.c.count + counts["added"] - counts["retired"])
    )
    return _read_info(connection, corpus_id)
