"""Health of the database: its content and its problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from entail.data.reading import size_of
from entail.errors import DamagedTreeError
from entail.progress import Meter, ProgressCallback
from entail.trees.log.event_log import DAMAGED_REMEDY, read_evidence, read_history, summarise
from entail.trees.store import schema
from entail.trees.store.database import Database
from entail.trees.store.migrations import schema_revision

_RESTORE = "restore a backup with `entail restore FILE --replace`"


@dataclass(frozen=True, slots=True)
class Health:
    """Findings on a database: revision of its tables, bytes, rows by table, and a line a problem."""

    revision: str | None
    size: int
    rows: Mapping[str, int]
    problems: tuple[str, ...]


def examine(database: Database, *, progress: ProgressCallback | None = None) -> Health:
    """Examine a whole database without changing it."""
    with database.reading() as connection:
        return Health(
            revision=schema_revision(connection),
            size=_size(connection, database),
            rows=row_counts(connection),
            problems=(
                *_file_problems(connection),
                *corpus_problems(connection),
                *tree_problems(connection, progress=progress),
            ),
        )


def counts(database: Database) -> tuple[Mapping[str, int], int, str | None]:
    """Return the rows of each table, the bytes on the disk and the revision of the tables."""
    with database.reading() as connection:
        return row_counts(connection), _size(connection, database), schema_revision(connection)


def row_counts(connection: sa.Connection) -> dict[str, int]:
    """Return the number of rows by table."""
    return {
        table.name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
        for table in schema.metadata.sorted_tables
    }


def tree_problems(connection: sa.Connection, *, progress: ProgressCallback | None = None) -> Iterator[str]:
    """Yield problems of logs: replay errors and summaries that differ from the replay."""
    rows = connection.execute(sa.select(schema.trees).order_by(schema.trees.c.id)).all()
    meter = Meter(len(rows), "replaying logs", unit="trees", report=progress)
    for row in rows:
        stored = row._mapping
        for seq, reason in read_evidence(connection, row.id)[1].items():
            yield f"the evidence of act {seq} of tree {row.id} is damaged ({reason}); the tree is whole"
        meter.add(1)
        try:
            history = read_history(connection, row.id)
        except DamagedTreeError as error:
            yield str(error)
            continue
        if history is None:
            yield f"tree {row.id} is damaged: it has no acts; {DAMAGED_REMEDY}"
            continue
        columns = summarise(history).items()
        if wrong := [f"{k}: {stored[k]!r}, by its log {v!r}" for k, v in columns if stored[k] != v]:
            yield f"the summary of tree {row.id} is wrong ({'; '.join(wrong)}): its next act corrects it"


def corpus_problems(connection: sa.Connection) -> Iterator[str]:
    """Yield problems of corpora: counts and versions that differ from the rows."""
    corpora, changes, premises = schema.corpora, schema.corpus_changes, schema.premises
    for row in connection.execute(sa.select(corpora).order_by(corpora.c.id)).all():
        live = connection.scalar(
            sa.select(sa.func.count()).where(premises.c.corpus_id == row.id, premises.c.retired.is_(None))
        )
        versions = connection.execute(
            sa.select(sa.func.count(), sa.func.max(changes.c.version)).where(changes.c.corpus_id == row.id)
        ).one()
        if (live, *versions) != (row.count, row.version, row.version):
            yield (
                f"the corpus {row.name!r} should have {row.count} premises and {row.version} versions, found "
                f"{live} and {versions[0]}: {_RESTORE}"
            )


def _file_problems(connection: sa.Connection) -> Iterator[str]:
    if connection.dialect.name != "sqlite":
        return
    messages = list(connection.exec_driver_sql("PRAGMA integrity_check(5)").scalars())
    if messages != ["ok"]:
        yield f"the file is damaged ({'; '.join(messages)}): {_RESTORE}"
    for table, _row, parent, _key in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(5):
        yield f"a row of {table} names one of {parent} that is not there: {_RESTORE}"


def _size(connection: sa.Connection, database: Database) -> int:
    if database.file is None:
        return int(connection.scalar(sa.select(sa.func.pg_database_size(sa.func.current_database()))) or 0)
    return size_of(*(database.file.with_name(database.file.name + end) for end in ("", "-wal")))
