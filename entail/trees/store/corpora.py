"""Versioned corpora: every change makes a version, and every version can be read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.data.text import quote
from entail.errors import CorpusError
from entail.trees.store import schema
from entail.trees.store.corpus_versions import (
    ARCHIVE,
    INFO,
    IS_ARCHIVED,
    CorpusInfo,
    check_premises,
    insert_corpus,
    insert_version,
    live_keys,
    live_premises,
    read_info,
)
from entail.trees.store.database import Database

QUOTED = 5
"""Most premises that a `CorpusChange` quotes as added or retired."""

CACHED_CORPORA = 8
"""Corpora in the cache of a `CorpusStore`."""


@dataclass(frozen=True, slots=True)
class CorpusChange:
    """Change that made a version of a corpus: `create`, `add`, `correct`, `retire`, `archive` or `restore`.

    `added_texts` and `retired_texts` are the first `QUOTED` of each; a correction retires the old text.
    """

    version: int
    change: str
    author: str
    at: datetime
    added: int
    retired: int
    added_texts: tuple[str, ...]
    retired_texts: tuple[str, ...]
    verified: bool = False


class CorpusStore:
    """Corpora of a database; one object can be shared by all threads.

    Methods raise `CorpusError` if there is no corpus with the id, and `DatabaseError` if the database cannot
    be read or written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._corpora: OrderedDict[tuple[str, int, datetime | None], Corpus] = OrderedDict()
        self._lock = threading.Lock()

    def add_corpus(self, corpus: Corpus, *, author: str, licence: str = "", source: str = "") -> CorpusInfo:
        """Add a corpus, in its order, as version 1.

        Raises:
            CorpusError: If it is empty, a premise is invalid, or the name is invalid or taken.
        """
        with self._database.writing() as connection:
            return insert_corpus(connection, corpus, author=author, licence=licence, source=source)

    def corpora(self, *, archived: bool | None = False) -> list[CorpusInfo]:
        """Return the corpora by name: only archived ones, only others, or with None both."""
        query = INFO.order_by(schema.corpora.c.folded)
        if archived is not None:
            query = query.where(IS_ARCHIVED if archived else ~IS_ARCHIVED)
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
            return read_info(connection, corpus_id)

    def corpus(self, corpus_id: str, *, version: int | None = None) -> Corpus:
        """Return the premises of a version, the newest by default; later versions append at the end.

        Raises:
            CorpusError: If there is no such corpus or version.
        """
        with self._database.reading() as connection:
            info = read_info(connection, corpus_id)
            number = info.version if version is None else version
            if not 1 <= number <= info.version:
                raise CorpusError(f"{info.name!r} has the versions 1 to {info.version}, found {number}")
            changes = schema.corpus_changes
            at = connection.scalar(
                sa.select(changes.c.at).where(changes.c.corpus_id == corpus_id, changes.c.version == number)
            )
            # With the time, since another corpus may be restored under the same id.
            slot = (corpus_id, number, at)
            with self._lock:
                if slot in self._corpora:
                    self._corpora.move_to_end(slot)
                    return self._corpora[slot]
            corpus = Corpus(info.name, live_premises(connection, corpus_id, number))
        with self._lock:
            self._corpora[slot] = corpus
            while len(self._corpora) > CACHED_CORPORA:
                self._corpora.popitem(last=False)
        return corpus

    def add(self, corpus_id: str, texts: Iterable[str | Premise], *, author: str) -> CorpusInfo:
        """Append premises; repeated ones are added once.

        Raises:
            CorpusError: If a text is invalid or already in the corpus, or there is none.
        """
        entries = [texts] if isinstance(texts, str) else texts
        premises = [text if isinstance(text, Premise) else Premise(text) for text in entries]
        check_premises(premises)
        added = Corpus.of("added", premises)
        with self._database.writing() as connection:
            info = read_info(connection, corpus_id, lock=True)
            live = live_keys(connection, corpus_id, info.version)
            if duplicates := [p for p in added.premises if p.key in live]:
                raise CorpusError(
                    f"{len(duplicates)} of {len(added)} are in {info.name!r} already (the first: "
                    f"{quote(duplicates[0].text)}); nothing was added"
                )
            if not added:
                raise CorpusError("there is nothing to add; expected at least one premise")
            return insert_version(connection, corpus_id, "add", author, added=added)

    def correct(self, corpus_id: str, key: str, text: str, *, author: str) -> CorpusInfo:
        """Retire the premise with this key and add the corrected text at the end, in one version.

        Raises:
            CorpusError: If there is no such premise, or the text is invalid or already in the corpus.
        """
        check_premises([Premise(text)])
        with self._database.writing() as connection:
            info = read_info(connection, corpus_id, lock=True)
            live = live_keys(connection, corpus_id, info.version)
            if key not in live:
                raise CorpusError(f"{info.name!r} has no premise {key!r}; it may have been retired")
            premise = Premise(text, source_id=live[key])
            if premise.key == key:
                raise CorpusError("the corrected text is the same as before, white space aside")
            if premise.key in live:
                raise CorpusError(f"{quote(text)} is in {info.name!r} already; retire the other one instead")
            new = Corpus("corrected", (premise,))
            return insert_version(
                connection, corpus_id, "correct", author, added=new, retired=[key], corrects=key
            )

    def retire(self, corpus_id: str, keys: Iterable[str], *, author: str) -> CorpusInfo:
        """Retire premises; older versions and trees keep them.

        Raises:
            CorpusError: If one is missing, or none would be left.
        """
        retired = list(dict.fromkeys(keys))
        with self._database.writing() as connection:
            info = read_info(connection, corpus_id, lock=True)
            live = live_keys(connection, corpus_id, info.version)
            if missing := [key for key in retired if key not in live]:
                raise CorpusError(f"{info.name!r} has no premise {missing[0]!r}; it may have been retired")
            if not retired:
                raise CorpusError("there is nothing to retire; expected at least one key")
            if len(retired) == len(live):
                raise CorpusError(f"{info.name!r} would be left without a premise; nothing was retired")
            return insert_version(connection, corpus_id, "retire", author, retired=retired)

    def archive(self, corpus_id: str, *, author: str, archived: bool = True) -> CorpusInfo:
        """Hide a corpus from lists, or restore it; its premises and trees stay, and any edit restores it."""
        with self._database.writing() as connection:
            read_info(connection, corpus_id, lock=True)
            info = read_info(connection, corpus_id)  # with the change that was waited for
            if info.archived == archived:
                return info
            return insert_version(connection, corpus_id, ARCHIVE if archived else "restore", author)

    def changes(self, corpus_id: str) -> list[CorpusChange]:
        """Return the versions of a corpus, the newest first."""
        changes, premises = schema.corpus_changes, schema.premises
        columns = ("version", "change", "author", "at", "added", "retired", "verified")
        query = (
            sa.select(*(changes.c[name] for name in columns))
            .where(changes.c.corpus_id == corpus_id)
            .order_by(changes.c.version.desc())
        )
        with self._database.reading() as connection:
            read_info(connection, corpus_id)
            versions = []
            for row in connection.execute(query).all():
                quoted = {
                    f"{column}_texts": tuple(
                        connection.scalars(
                            sa.select(premises.c.text)
                            .where(premises.c.corpus_id == corpus_id, premises.c[column] == row.version)
                            .order_by(premises.c.position)
                            .limit(QUOTED)
                        )
                    )
                    for column in ("added", "retired")
                }
                versions.append(CorpusChange(**{**row._mapping, **quoted}))
        return versions
