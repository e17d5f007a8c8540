"""Corpora that grow: every change is a version, and every version can be had again."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.data.text import fold
from entail.errors import CorpusError
from entail.settings import load_settings
from entail.trees import schema
from entail.trees.authors import enter, fold_name
from entail.trees.database import Database
from entail.trees.wording import quote

LONGEST_NAME = 100
"""Characters of a corpus's name."""

QUOTED = 5
"""Premises that a `CorpusChange` quotes on either side."""

CACHED_CORPORA = 8
"""Corpora that a `CorpusStore` keeps in memory."""


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """What a list of corpora shows of one.

    Attributes:
        id: Eight hexadecimal digits.
        name: Its name, unique in the database.
        version: 1 when it came, one more with each change.
        count: Premises in force.
        licence: Under which it may be used, as its bringer said.
        source: Where it comes from, as its bringer said.
        created_at: When it came, in UTC.
        created_by: Who brought it.
    """

    id: str
    name: str
    version: int
    count: int
    licence: str
    source: str
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True)
class CorpusChange:
    """One version of a corpus: who changed what.

    Attributes:
        version: The version it made.
        change: `create`, `add`, `correct` or `retire`.
        author: Who did it.
        at: When, in UTC.
        added: Premises added.
        retired: Premises retired.
        added_texts: The first of those added.
        retired_texts: The first of those retired; a correction's old text.
    """

    version: int
    change: str
    author: str
    at: datetime
    added: int
    retired: int
    added_texts: tuple[str, ...]
    retired_texts: tuple[str, ...]


def check_premise(text: str) -> None:
    """See whether a text can be a premise of a corpus.

    Raises:
        CorpusError: If it is empty, too long, or holds what no text holds.
    """
    longest = load_settings().max_premise_chars
    _check_premise(text, longest)


def _check_premise(text: str, longest: int) -> None:
    if not fold(text):
        raise CorpusError("a premise needs at least one character that is not white space")
    if len(text) > longest:
        raise CorpusError(
            f"a premise has at most {longest:,} characters, found {len(text):,} in {quote(text)}; "
            "split it, or set ENTAIL_MAX_PREMISE_CHARS"
        )
    if "\0" in text:
        raise CorpusError(f"a premise cannot hold a NUL character: {quote(text.replace(chr(0), '␀'))}")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise CorpusError("a premise holds half a character (a lone surrogate); see how its file was encoded")


def clean_corpus_name(name: str) -> str:
    """Return a corpus's name with single spaces and none around.

    Raises:
        CorpusError: If nothing is left, it is too long, or it could be taken for a path.

    >>> clean_corpus_name(" my  facts ")
    'my facts'
    """
    clean = " ".join(name.split())
    if not 1 <= len(clean) <= LONGEST_NAME:
        raise CorpusError(f"a corpus's name has 1 to {LONGEST_NAME} characters, found {len(clean)}")
    if not all(char.isprintable() for char in clean):
        raise CorpusError("a corpus's name cannot hold characters that are not seen")
    if "/" in clean or "\\" in clean or clean.startswith("."):
        raise CorpusError(f"a corpus's name cannot hold / or \\ or begin with a dot, found {clean!r}")
    return clean


def insert_corpus(
    connection: sa.Connection,
    corpus: Corpus,
    *,
    author: str,
    licence: str = "",
    source: str = "",
    corpus_id: str | None = None,
) -> str:
    """Add a corpus in the caller's transaction and return its id; raises as `CorpusStore.add_corpus`."""
    name = clean_corpus_name(corpus.name)
    if not corpus.premises:
        raise CorpusError(f"the corpus {name!r} has no premise; expected at least one")
    longest = load_settings().max_premise_chars
    for premise in corpus.premises:
        _check_premise(premise.text, longest)
    table = schema.corpora
    if connection.scalar(sa.select(table.c.id).where(table.c.folded == fold_name(name))) is not None:
        raise CorpusError(f"a corpus called {name!r} is there already; choose another name or add to it")
    corpus_id = corpus_id or secrets.token_hex(4)
    connection.execute(
        sa.insert(table).values(
            id=corpus_id,
            name=name,
            folded=fold_name(name),
            version=1,
            count=len(corpus),
            licence=licence.strip(),
            source=source.strip(),
        )
    )
    _insert_change(
        connection, corpus_id, 1, "create", enter(connection, author), added=len(corpus), retired=0
    )
    _insert_premises(connection, corpus_id, corpus.premises, keys=corpus.keys, version=1, position=0)
    return corpus_id


def _insert_change(
    connection: sa.Connection,
    corpus_id: str,
    version: int,
    change: str,
    author: str,
    *,
    added: int,
    retired: int,
) -> None:
    connection.execute(
        sa.insert(schema.corpus_changes).values(
            corpus_id=corpus_id,
            version=version,
            change=change,
            author=author,
            at=datetime.now(UTC),
            added=added,
            retired=retired,
        )
    )


def _insert_premises(
    connection: sa.Connection,
    corpus_id: str,
    premises: Sequence[Premise],
    *,
    keys: Sequence[str],
    version: int,
    position: int,
    corrects: str | None = None,
) -> None:
    connection.execute(
        sa.insert(schema.premises),
        [
            {
                "corpus_id": corpus_id,
                "position": position + i,
                "key": key,
                "text": premise.text,
                "source_id": premise.source_id,
                "added": version,
                "corrects": corrects,
            }
            for i, (premise, key) in enumerate(zip(premises, keys, strict=True))
        ],
    )


class CorpusStore:
    """The corpora of a database. One object may be shared by all threads of a process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._corpora: OrderedDict[tuple[str, int, datetime], Corpus] = OrderedDict()
        self._lock = threading.Lock()

    def add_corpus(self, corpus: Corpus, *, author: str, licence: str = "", source: str = "") -> CorpusInfo:
        """Add a corpus, in its order, as version 1.

        Raises:
            CorpusError: If it is empty, a premise cannot be used, or the name cannot be used or is taken.
            DatabaseError: If the database cannot be written.
        """
        with self._database.writing() as connection:
            corpus_id = insert_corpus(connection, corpus, author=author, licence=licence, source=source)
            return _info(connection, corpus_id)

    def corpora(self) -> list[CorpusInfo]:
        """Return all corpora, by name."""
        with self._database.reading() as connection:
            return [CorpusInfo(*row) for row in connection.execute(_INFO.order_by(schema.corpora.c.folded))]

    def info(self, corpus_id: str) -> CorpusInfo:
        """Return what the list of corpora shows of this one.

        Raises:
            CorpusError: If there is no such corpus.
        """
        with self._database.reading() as connection:
            return _info(connection, corpus_id)

    def corpus(self, corpus_id: str, *, version: int | None = None) -> Corpus:
        """Return the premises of a version, by default of the newest, in an order that only grows at the end.

        Raises:
            CorpusError: If there is no such corpus or version.
        """
        with self._database.reading() as connection:
            info = _info(connection, corpus_id)
            wanted = info.version if version is None else version
            if not 1 <= wanted <= info.version:
                raise CorpusError(f"{info.name!r} has the versions 1 to {info.version}, found {wanted}")
            changes = schema.corpus_changes
            at = connection.scalar(
                sa.select(changes.c.at).where(changes.c.corpus_id == corpus_id, changes.c.version == wanted)
            )
            assert at is not None
            slot = (corpus_id, wanted, at)  # with the time: another corpus may be restored under the same id
            with self._lock:
                if slot in self._corpora:
                    self._corpora.move_to_end(slot)
                    return self._corpora[slot]
            corpus = Corpus(info.name, tuple(p for p, _ in _live(connection, corpus_id, wanted)))
        with self._lock:
            self._corpora[slot] = corpus
            while len(self._corpora) > CACHED_CORPORA:
                self._corpora.popitem(last=False)
        return corpus

    def add(
        self, corpus_id: str, texts: Iterable[str | Premise], *, author: str, skip_known: bool = False
    ) -> CorpusInfo:
        """Add premises at the end; repeats among them count once.

        Args:
            corpus_id: The corpus.
            texts: What to add.
            author: Who adds it.
            skip_known: Leave out what the corpus has already, instead of refusing.

        Raises:
            CorpusError: If a text cannot be used or is in the corpus already, or nothing is left to add.
        """
        added = Corpus.of("added", texts)
        longest = load_settings().max_premise_chars
        for premise in added.premises:
            _check_premise(premise.text, longest)
        with self._database.writing() as connection:
            info = _info(connection, corpus_id, lock=True)
            live = _live_keys(connection, corpus_id, info.version)
            new = [(p, key) for p, key in zip(added.premises, added.keys, strict=True) if key not in live]
            known = [p for p, key in zip(added.premises, added.keys, strict=True) if key in live]
            if known and not (skip_known and new):
                raise CorpusError(
                    f"{len(known)} of {len(added)} are in {info.name!r} already (the first: "
                    f"{quote(known[0].text)}); nothing was added"
                )
            if not new:
                raise CorpusError("there is nothing to add; expected at least one premise")
            return _change(connection, info, "add", author, [p for p, _ in new], keys=[k for _, k in new])

    def correct(self, corpus_id: str, key: str, text: str, *, author: str) -> CorpusInfo:
        """Retire the premise with this key and add the corrected text at the end, in one version.

        Raises:
            CorpusError: If there is no such premise, or the text cannot be used or is there already.
        """
        check_premise(text)
        with self._database.writing() as connection:
            info = _info(connection, corpus_id, lock=True)
            live = _live_keys(connection, corpus_id, info.version)
            if key not in live:
                raise CorpusError(f"{info.name!r} has no premise {key!r}; it may have been retired")
            premise = Premise(text, source_id=live[key])
            if premise.key == key:
                raise CorpusError("the corrected text is the same as before, white space aside")
            if premise.key in live:
                raise CorpusError(f"{quote(text)} is in {info.name!r} already; retire the other one instead")
            return _change(
                connection,
                info,
                "correct",
                author,
                [premise],
                keys=[premise.key],
                retired=[key],
                corrects=key,
            )

    def retire(self, corpus_id: str, keys: Iterable[str], *, author: str) -> CorpusInfo:
        """Take premises out of the corpus; older versions and trees keep them.

        Raises:
            CorpusError: If one of them is not there, or none would be left.
        """
        retired = list(dict.fromkeys(keys))
        with self._database.writing() as connection:
            info = _info(connection, corpus_id, lock=True)
            live = _live_keys(connection, corpus_id, info.version)
            missing = [key for key in retired if key not in live]
            if missing or not retired:
                raise CorpusError(
                    f"{info.name!r} has no premise {missing[0]!r}; it may have been retired"
                    if missing
                    else "there is nothing to retire; expected at least one key"
                )
            if len(retired) == len(live):
                raise CorpusError(f"{info.name!r} would be left without a premise; nothing was retired")
            return _change(connection, info, "retire", author, [], keys=[], retired=retired)

    def changes(self, corpus_id: str) -> list[CorpusChange]:
        """Return the versions of a corpus, the newest first.

        Raises:
            CorpusError: If there is no such corpus.
        """
        changes, premises = schema.corpus_changes, schema.premises
        columns = ("version", "change", "author", "at", "added", "retired")
        query = (
            sa.select(*(changes.c[name] for name in columns))
            .where(changes.c.corpus_id == corpus_id)
            .order_by(changes.c.version.desc())
        )
        with self._database.reading() as connection:
            _info(connection, corpus_id)
            found = []
            for row in connection.execute(query).all():
                quoted = [
                    tuple(
                        connection.scalars(
                            sa.select(premises.c.text)
                            .where(premises.c.corpus_id == corpus_id, premises.c[what] == row.version)
                            .order_by(premises.c.position)
                            .limit(QUOTED)
                        )
                    )
                    for what in ("added", "retired")
                ]
                found.append(CorpusChange(*row, *quoted))
        return found


def _info_query() -> sa.Select[Any]:
    corpora, changes = schema.corpora, schema.corpus_changes
    first = sa.and_(changes.c.corpus_id == corpora.c.id, changes.c.version == 1)
    return sa.select(
        *(corpora.c[name] for name in ("id", "name", "version", "count", "licence", "source")),
        changes.c.at,
        changes.c.author,
    ).join(changes, first)


_INFO = _info_query()


def _info(connection: sa.Connection, corpus_id: str, *, lock: bool = False) -> CorpusInfo:
    query = _INFO.where(schema.corpora.c.id == corpus_id)
    row = connection.execute(query.with_for_update(of=schema.corpora) if lock else query).first()
    if row is None:
        raise CorpusError(f"there is no corpus {corpus_id!r}; it may be in another database")
    return CorpusInfo(*row)


def _in_version(corpus_id: str, version: int) -> sa.ColumnElement[bool]:
    table = schema.premises
    return sa.and_(
        table.c.corpus_id == corpus_id,
        table.c.added <= version,
        sa.or_(table.c.retired.is_(None), table.c.retired > version),
    )


def _live(connection: sa.Connection, corpus_id: str, version: int) -> Iterable[tuple[Premise, str]]:
    table = schema.premises
    rows = (
        sa.select(table.c.text, table.c.source_id, table.c.key)
        .where(_in_version(corpus_id, version))
        .order_by(table.c.position)
    )
    return [(Premise(text, source_id), key) for text, source_id, key in connection.execute(rows)]


def _live_keys(connection: sa.Connection, corpus_id: str, version: int) -> Mapping[str, str | None]:
    """Return key -> source id of the premises in force."""
    table = schema.premises
    rows = sa.select(table.c.key, table.c.source_id).where(_in_version(corpus_id, version))
    return {row.key: row.source_id for row in connection.execute(rows)}


def _change(
    connection: sa.Connection,
    info: CorpusInfo,
    change: str,
    author: str,
    premises: Sequence[Premise],
    *,
    keys: Sequence[str],
    retired: Sequence[str] = (),
    corrects: str | None = None,
) -> CorpusInfo:
    version, table = info.version + 1, schema.premises
    _insert_change(
        connection,
        info.id,
        version,
        change,
        enter(connection, author),
        added=len(premises),
        retired=len(retired),
    )
    if retired:
        connection.execute(
            sa.update(table)
            .where(
                table.c.corpus_id == info.id, table.c.key == sa.bindparam("gone"), table.c.retired.is_(None)
            )
            .values(retired=version),
            [{"gone": key} for key in retired],
        )
    if premises:
        last = connection.scalar(sa.select(sa.func.max(table.c.position)).where(table.c.corpus_id == info.id))
        assert last is not None
        _insert_premises(
            connection, info.id, premises, keys=keys, version=version, position=last + 1, corrects=corrects
        )
    connection.execute(
        sa.update(schema.corpora)
        .where(schema.corpora.c.id == info.id)
        .values(version=version, count=info.count + len(premises) - len(retired))
    )
    return _info(connection, info.id)
