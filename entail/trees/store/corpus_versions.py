"""Versions of one corpus in the database, read and written in the caller's transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.data.text import SURROGATES, fold, quote
from entail.errors import CorpusError
from entail.settings import load_settings
from entail.trees.store import schema
from entail.trees.store.authors import enter, fold_name, is_signed_in

LONGEST_NAME = 100
"""Most characters of a corpus's name."""


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """Summary of a corpus, with author and time (UTC) of its creation.

    `name` is unique in the database, `count` is the number of premises in `version`. A corpus is archived
    if that was its last change.
    """

    id: str
    name: str
    version: int
    count: int
    licence: str
    source: str
    created_at: datetime
    created_by: str
    archived: bool = False


def check_premises(premises: Iterable[Premise]) -> None:
    """Check that these can be premises of a corpus.

    Raises:
        CorpusError: If one is empty, too long, or has invalid characters.
    """
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
        _check_storable(f"{text}{premise.source_id or ''}", "a premise")


def _check_storable(text: str, field: str) -> None:
    if "\0" in text:
        raise CorpusError(f"{field} cannot hold a NUL character: {quote(text.replace(chr(0), '␀'))}")
    if SURROGATES.search(text):
        raise CorpusError(f"{field} holds half a character (a lone surrogate); see how its file was encoded")


def clean_corpus_name(name: str) -> str:
    """Return the name of a corpus with white space normalised.

    Raises:
        CorpusError: If it is empty, too long, or could be taken for a path.

    >>> clean_corpus_name(" my  facts ")
    'my facts'
    """
    clean = " ".join(name.split())
    if not 1 <= len(clean) <= LONGEST_NAME:
        raise CorpusError(f"a corpus's name has 1 to {LONGEST_NAME} characters, found {len(clean)}")
    if not all(char.isprintable() for char in clean):
        raise CorpusError("a corpus's name cannot hold invisible characters")
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
) -> CorpusInfo:
    """Add a corpus in the caller's transaction; raises as `CorpusStore.add_corpus`."""
    name = clean_corpus_name(corpus.name)
    if not corpus.premises:
        raise CorpusError(f"the corpus {name!r} has no premise; expected at least one")
    check_premises(corpus.premises)
    _check_storable(f"{licence}{source}", "the licence or source of a corpus")
    table = schema.corpora
    if connection.scalar(sa.select(table.c.id).where(table.c.folded == fold_name(name))) is not None:
        raise CorpusError(
            f"a corpus {name!r} exists already, maybe archived; choose another name or add to it"
        )
    corpus_id = corpus_id or secrets.token_hex(4)
    row = {"id": corpus_id, "name": name, "folded": fold_name(name), "version": 0, "count": 0}
    connection.execute(sa.insert(table).values(**row, licence=licence.strip(), source=source.strip()))
    return insert_version(connection, corpus_id, "create", author, added=corpus)


ARCHIVE = "archive"
"""Change that archives a corpus; any other brings it back."""

_LAST = schema.corpus_changes.alias("last")

# Not joined: after a wait for the row, PostgreSQL knows its new version but not yet the change that made it.
IS_ARCHIVED = (
    sa.select(_LAST.c.change)
    .where(_LAST.c.corpus_id == schema.corpora.c.id)
    .order_by(_LAST.c.version.desc())
    .limit(1)
    .scalar_subquery()
) == ARCHIVE
"""Condition on `INFO`."""

INFO: sa.Select[Any] = sa.select(
    *(schema.corpora.c[name] for name in ("id", "name", "version", "count", "licence", "source")),
    schema.corpus_changes.c.at,
    schema.corpus_changes.c.author,
    IS_ARCHIVED,
).join(
    schema.corpus_changes,
    (schema.corpus_changes.c.corpus_id == schema.corpora.c.id) & (schema.corpus_changes.c.version == 1),
)
"""Query of the fields of `CorpusInfo`, of all corpora."""


def read_info(connection: sa.Connection, corpus_id: str, *, lock: bool = False) -> CorpusInfo:
    """Return the summary of a corpus; with `lock`, others cannot change it until the transaction ends.

    Raises:
        CorpusError: If there is no such corpus.
    """
    query = INFO.where(schema.corpora.c.id == corpus_id)
    if lock:
        query = query.with_for_update(of=schema.corpora)
    row = connection.execute(query).first() if corpus_id.isascii() else None
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


def live_premises(connection: sa.Connection, corpus_id: str, version: int) -> tuple[Premise, ...]:
    """Return the premises of a version, in order."""
    table = schema.premises
    rows = (
        sa.select(table.c.text, table.c.source_id)
        .where(_in_version(corpus_id, version))
        .order_by(table.c.position)
    )
    return tuple(Premise(text, source_id) for text, source_id in connection.execute(rows))


def live_keys(connection: sa.Connection, corpus_id: str, version: int) -> Mapping[str, str | None]:
    """Return key -> source id of the premises of a version."""
    table = schema.premises
    rows = sa.select(table.c.key, table.c.source_id).where(_in_version(corpus_id, version))
    return {row.key: row.source_id for row in connection.execute(rows)}


def insert_version(
    connection: sa.Connection,
    corpus_id: str,
    change: str,
    author: str,
    *,
    added: Corpus | None = None,
    retired: Sequence[str] = (),
    corrects: str | None = None,
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
        connection.execute(
            sa.update(premises)
            .where(
                premises.c.corpus_id == corpus_id,
                premises.c.key == sa.bindparam("gone"),
                premises.c.retired.is_(None),
            )
            .values(retired=version),
            [{"gone": key} for key in retired],
        )
    if added:
        last = connection.scalar(
            sa.select(sa.func.max(premises.c.position)).where(premises.c.corpus_id == corpus_id)
        )
        first = 0 if last is None else last + 1
        connection.execute(
            sa.insert(premises),
            [
                {
                    "corpus_id": corpus_id,
                    "position": position,
                    "key": key,
                    "text": premise.text,
                    "source_id": premise.source_id,
                    "added": version,
                    "corrects": corrects,
                }
                for position, (premise, key) in enumerate(
                    zip(added.premises, added.keys, strict=True), start=first
                )
            ],
        )
    connection.execute(
        sa.update(corpora)
        .where(corpora.c.id == corpus_id)
        .values(version=version, count=corpora.c.count + counts["added"] - counts["retired"])
    )
    return read_info(connection, corpus_id)
