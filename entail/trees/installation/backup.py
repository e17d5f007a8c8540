"""Backup and restore of an installation: a ZIP of JSON lines for any database of entail.

::

    manifest.json         format, revision of the tables, length and SHA-256 of each part
    tables/<name>.jsonl   one row a line
    models/...            models in the data folder; `active.json` in backups of earlier versions

Cached vectors, models that are being written, and checkpoints, logs and inputs of jobs are left out. A backup
of SQLite restores into PostgreSQL and back.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from entail.data.stored import parse_as
from entail.errors import DamagedDatabaseError, DatabaseError, DataError, FormatError
from entail.progress import Meter, ProgressCallback
from entail.settings import load_settings, refuse_in_demo
from entail.trees.installation.archive import Archive, open_archive, read_chunks, write_archive
from entail.trees.installation.health import corpus_problems, row_counts, tree_problems
from entail.trees.store import schema, search
from entail.trees.store.database import Database, open_database, sqlite_file
from entail.trees.store.migrations import migrate
from entail.trees.store.restoration import ACTIVE, FolderSwap, forget
from entail.trees.store.state import adopt_jobs

_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Backup:
    """Written backup: its file, its bytes, the rows of each table and the number of model files."""

    file: Path
    size: int
    rows: Mapping[str, int]
    models: int


@dataclass(frozen=True, slots=True)
class Restoration:
    """Result of a restore: rows by table, number of model files.

    `before` is a backup of the replaced data, `damaged` the new path of a damaged database file, `revoked`
    the number of dropped links. `problems` has a line for each tree that was damaged in the backup.
    """

    rows: Mapping[str, int]
    models: int
    before: Path | None = None
    damaged: Path | None = None
    problems: tuple[str, ...] = ()
    revoked: int = 0


def backup(
    file: Path, *, url: str | None = None, overwrite: bool = False, progress: ProgressCallback | None = None
) -> Backup:
    """Write the database and the models in the data folder into one file.

    The copy is consistent while others work. `DataError` if the file exists and `overwrite` is not set, or if
    it cannot be written.
    """
    if (path := sqlite_file(url)) is not None and not path.exists():
        raise DatabaseError(f"there is no database at {path} yet, so nothing to back up; see `entail doctor`")
    with closing(open_database(url)) as database:
        return _write(database, file, overwrite=overwrite, progress=progress)


def restore(
    file: Path, *, url: str | None = None, replace: bool = False, progress: ProgressCallback | None = None
) -> Restoration:
    """Restore a backup of this version or an older one into an empty installation, atomically.

    The models go to a staging folder, the database is filled in one transaction, and the folders are swapped
    just before its commit. If a step fails, or this process is killed, both are unchanged or both replaced.
    With `replace`, existing data is backed up first, and a damaged database file is renamed. Read-only links
    that do not work before the restore do not work after it: they may have been revoked since the backup.

    Raises:
        FormatError: If the file is no backup, truncated, altered or of a newer version.
        DatabaseError: If the database is not empty without `replace`, or cannot be written.
        DataError: If the backup cannot be read, or its models cannot be written.
    """
    refuse_in_demo("a backup cannot be restored")
    models = _models_dir()
    damaged = before = None
    with open_archive(file) as archive:
        try:
            database = open_database(url)
        except DamagedDatabaseError:
            if not replace:
                raise
            damaged = _move_aside(url)
            database = open_database(url)
        try:
            with database.reading() as connection:
                rows = row_counts(connection)
            del rows[schema.workers.name]  # which write themselves again
            files = (models.parent / ACTIVE, *models.rglob("*"))
            if any(rows.values()) or any(path.is_file() for path in files):
                if not replace:
                    reason = f"{database.url} or {models} is not empty; say --replace to have it replaced"
                    raise DatabaseError(f"nothing was restored, for {reason} (and backed up first)")
                folder = database.file.parent if database.file else load_settings().data_dir
                try:
                    before = _write(database, folder / f"before-restore-{_stamp()}.zip").file
                except DamagedDatabaseError:
                    database.close()
                    damaged = _move_aside(url)
                    database = open_database(url)
            stamp = _stamp()
            old = models.with_name(f"models.before-restore-{stamp}")
            swap = FolderSwap(stamp, models, _stage_models(archive, models), old, keeps=before is None)
            try:
                rows, problems, revoked = _fill(database, archive, progress, last=swap.apply)
            except BaseException as error:
                swap.revert(error)
                raise
            with database.writing() as connection:
                swap.finish(connection)
        finally:
            database.close()
    count = sum(name.startswith("models/") for name in archive.parts)
    return Restoration(rows, count, before, damaged, problems, revoked)


def _write(
    database: Database, file: Path, *, overwrite: bool = False, progress: ProgressCallback | None = None
) -> Backup:
    with database.reading() as connection:
        counts = row_counts(connection)
        meter = Meter(sum(counts.values()), "writing the backup", unit="rows", report=progress)

        def parts() -> Iterator[tuple[str, Iterator[bytes]]]:
            for table in schema.metadata.sorted_tables:
                yield f"tables/{table.name}.jsonl", _lines(connection, table, meter)
            for name, path in _model_files(with_active=not counts[schema.active_models.name]):
                with suppress(FileNotFoundError):  # replaced meanwhile by another version of the model
                    yield name, read_chunks(path.open("rb"))

        written = write_archive(file, parts(), revision=schema.REVISION, overwrite=overwrite)
    rows = {name: written[f"tables/{name}.jsonl"].lines for name in counts}
    return Backup(file=file, size=file.stat().st_size, rows=rows, models=len(written) - len(rows))


def _model_files(*, with_active: bool) -> Iterator[tuple[str, Path]]:
    """Yield the parts of the models: name in the archive, file."""
    models = _models_dir()
    active = models.parent / ACTIVE  # of an earlier version, not read yet
    if with_active and active.is_file():
        yield f"models/{ACTIVE}", active
    for folder, folders, files in os.walk(models):
        if Path(folder) == models:
            folders[:] = [name for name in folders if name[0] != "." and not name.endswith(".training")]
        folders.sort()
        for path in (Path(folder, name) for name in sorted(files)):
            if path.is_file() and not path.is_symlink() and path != models / ACTIVE:
                yield f"models/{path.relative_to(models).as_posix()}", path


def _lines(connection: sa.Connection, table: sa.Table, meter: Meter) -> Iterator[bytes]:
    is_json = {column.name: isinstance(column.type, sa.JSON) for column in table.columns}
    columns = [
        sa.cast(column, sa.Text).label(column.name) if is_json[column.name] else column
        for column in table.columns
    ]
    query = sa.select(*columns).order_by(*table.primary_key.columns).execution_options(yield_per=_BATCH)
    for batch in connection.execute(query).partitions():
        rows = (
            {name: _parsed(value) if is_json[name] else value for name, value in row._mapping.items()}
            for row in batch
        )
        yield "".join(f"{json.dumps(row, default=datetime.isoformat)}\n" for row in rows).encode()
        meter.add(len(batch))


def _parsed(text: str | None) -> Any:
    """Return the content of a JSON column; of a damaged one, its text, so that nothing is lost."""
    with suppress(ValueError):
        (content,) = parse_as(list[Any], f"[{text}]")  # as deep as in the line
        json.dumps(content, allow_nan=False)
        if content is not None:  # which would be no content at all where it is restored
            return content
    return text


def _models_dir() -> Path:
    return load_settings().data_dir / "models"


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"


def _move_aside(url: str | None) -> Path:
    """Rename a damaged database file and the journal files of SQLite."""
    path = sqlite_file(url)
    assert path is not None, "only a file can be damaged"
    moved = path.with_name(f"{path.name}.damaged-{_stamp()}")
    for end in ("", "-wal", "-shm"):
        part = path.with_name(path.name + end)
        if part.exists():
            part.rename(moved.with_name(moved.name + end))
    return moved


def _stage_models(archive: Archive, models: Path) -> Path | None:
    """Write the models of the archive into a folder next to `models`; return it, None without any."""
    names = [name for name in archive.parts if name.startswith("models/")]
    if not names:
        return None
    staged = models.with_name(f".models-{_stamp()}")
    try:
        for name in names:
            path = staged / name.removeprefix("models/")
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as stream, closing(archive.content(name)) as chunks:
                stream.writelines(chunks)
    except OSError as error:
        shutil.rmtree(staged, ignore_errors=True)
        reason = f"the models cannot be written next to {models} ({error.strerror}); make room there"
        raise DataError(f"nothing was restored: {reason}, and let this user write") from error
    return staged


def _fill(
    database: Database,
    archive: Archive,
    progress: ProgressCallback | None,
    *,
    last: Callable[[sa.Connection], None],
) -> tuple[dict[str, int], tuple[str, ...], int]:
    """Create the tables at the backup's revision, fill and migrate them; call `last` before the commit."""
    with database.writing() as connection:
        token = schema.shares.c.token
        links = list(connection.scalars(sa.select(token)))
        # Backups of earlier revisions have no jobs and moves: those that are there stay.
        has_jobs = f"tables/{schema.jobs.name}.jsonl" in archive.parts
        stay = [] if has_jobs else [table.name for table in schema.SINCE_0007]
        schema.metadata.drop_all(connection, [t for t in schema.metadata.sorted_tables if t.name not in stay])
        forget(connection)
        sa.Table("alembic_version", sa.MetaData()).drop(connection)
        migrate(connection, archive.revision)
        tables = sa.MetaData()
        tables.reflect(
            connection, only=lambda name, _: name not in stay and not name.startswith(search.INDEX)
        )
        for column in (column for table in tables.tables.values() for column in table.columns):
            if isinstance(column.type, sa.JSON):
                column.type = sa.JSON(none_as_null=True)
        filled = [t for t in tables.sorted_tables if t.name != "alembic_version"]
        parts = {f"tables/{table.name}.jsonl": table for table in filled}
        if parts.keys() != {part for part in archive.parts if part.startswith("tables/")}:
            raise FormatError(f"expected the tables {sorted(parts)}, found others", source=archive.name)
        count = sum(archive.parts[part].lines for part in parts)
        meter = Meter(count, "restoring", unit="rows", report=progress)
        for part, table in parts.items():
            try:
                with closing(archive.rows(part)) as rows:
                    while batch := [_row(row, table) for row in islice(rows, _BATCH)]:
                        connection.execute(sa.insert(table), batch)
                        meter.add(len(batch))
            except sa.exc.OperationalError:
                raise
            except (KeyError, TypeError, ValueError, sa.exc.StatementError) as error:
                reason = str(getattr(error, "orig", None) or error).splitlines()[0]
                reason = f"its rows do not fit the table {table.name} ({reason})"
                raise FormatError(reason, source=archive.name) from error
        migrate(connection)
        if has_jobs:
            adopt_jobs(connection, load_settings().jobs_dir)
        if f"models/{ACTIVE}" in archive.parts:
            connection.execute(sa.delete(schema.active_models))  # those of the file are read instead
        search.create_index(connection)
        if problem := next(corpus_problems(connection), None):
            raise FormatError(f"nothing was restored, its content is damaged: {problem}", source=archive.name)
        problems = tuple(tree_problems(connection))
        revoked = connection.execute(sa.delete(schema.shares).where(token.not_in(links))).rowcount
        last(connection)
    return {table.name: archive.parts[part].lines for part, table in parts.items()}, problems, revoked


def _row(values: Mapping[str, Any], table: sa.Table) -> dict[str, Any]:
    """Return a row with the types of the reflected table."""
    row = dict(values)
    for name, value in values.items():
        kind = table.c[name].type
        if isinstance(kind, sa.DateTime) and value is not None:
            time = datetime.fromisoformat(value).astimezone(UTC)
            # PostgreSQL keeps the zone; SQLite, whose tables know none, takes UTC for granted.
            row[name] = time if kind.timezone else time.replace(tzinfo=None)
    return row
