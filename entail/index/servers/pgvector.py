"""Engine of PostgreSQL with pgvector: one table of vectors and one HNSW index for an encoder revision.

A vector is stored once, by the key of its premise. A corpus is a line of versions: each of its premises was
added with one version and may be retired with a later one. So one index answers for all versions, and a
search filters by the version's membership. What a search needs, a transaction has written as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from entail.index.engines import Numbers, ReadVectors
from entail.index.protocol import Floats
from entail.index.servers.server import (
    BREADTH,
    LINKS,
    SEARCH_BREADTH,
    ServerEngine,
    ServerIndex,
    VectorServer,
    failure,
)
from entail.index.servers.versions import Candidates, Change, Version
from entail.progress import Meter, ProgressCallback
from entail.settings import load_settings

if TYPE_CHECKING:
    import psycopg
    import sqlalchemy as sa

SCANNED = 100_000
"""Most rows that a filtered search reads from the index before all vectors are compared."""

LEAST_BREADTH = 100
"""Least breadth of a search; `SEARCH_BREADTH` is that of a search in the whole table."""

SEARCH_SECONDS = 30
"""Longest time of one search, and that an update waits for another writer."""

BLOCK = 10_000
"""Vectors read and sent at a time."""

_FOREVER = 2**31 - 1  # version in which a premise retires that did not yet
_OLDEST = (0, 8)  # has iterative scans

_TABLES = """
CREATE SCHEMA IF NOT EXISTS entail_index;
CREATE TABLE IF NOT EXISTS entail_index.versions (
    name text PRIMARY KEY, line integer NOT NULL, version integer NOT NULL, UNIQUE (line, version)
);
CREATE TABLE IF NOT EXISTS entail_index.members (
    line integer, number bigint, added integer, retired integer NOT NULL,
    PRIMARY KEY (line, number, added)
);
CREATE TABLE IF NOT EXISTS {vectors} (number bigint PRIMARY KEY, vector halfvec({dimension}) NOT NULL);
ALTER TABLE {vectors} ALTER COLUMN vector SET STORAGE PLAIN
"""
_SEARCH = """
SELECT m.number, v.vector FROM {vectors} v JOIN entail_index.members m ON m.number = v.number
WHERE m.line = %s AND m.added <= %s AND m.retired > %s ORDER BY {distance} LIMIT %s
"""
_SETTINGS = """
SELECT set_config('statement_timeout', %s, true), set_config('hnsw.max_scan_tuples', %s, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.ef_search', least(1000, greatest(%s, part * %s))::int::text, true)
FROM pg_class, LATERAL (SELECT least(1, %s / greatest(reltuples, 1)) part)
WHERE oid = to_regclass(%s)
"""
_NEAR = "v.vector <#> %s"  # the operator of the index
_EXACT = "(v.vector <#> %s) + 0"  # an expression, which no index orders

_INSTALLED = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
_LACKING = """
SELECT number FROM unnest(%s::bigint[]) number
WHERE NOT EXISTS (SELECT FROM {vectors} v WHERE v.number = number.number)
"""
_HNSW = """
CREATE INDEX IF NOT EXISTS {name} ON {vectors}
USING hnsw (vector halfvec_ip_ops) WITH (m = {links}, ef_construction = {breadth})
"""
_REASONS: Mapping[str, str] = {
    "57014": "slow",  # a search was cancelled
    "55P03": "slow",  # another writer has the lock
    "53": "full",
    "42501": "permission",
    "28": "permission",
    "3D": "down",  # no such database
    "0A000": "version",
    "58P01": "version",
    "08": "down",
    "57P": "down",
}
"""Start of an SQLSTATE -> `IndexEngineError.reason`."""


@dataclass(frozen=True)
class VectorTable(VectorServer):
    """Table of the premise vectors of one encoder revision in a PostgreSQL database."""

    @property
    def name(self) -> str:
        """Name of the table."""
        return f"entail_index.vectors_{self.slug}"

    def sql(self, template: str, **names: object) -> str:
        """Return a statement with the table's name; no text of a person goes into it."""
        return template.format(vectors=self.name, dimension=self.dimension, **names)

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Yield a connection in one transaction, which is committed at the end.

        Raises:
            IndexEngineError: If the server cannot be used; says why and what to do.
        """
        with _explained(self.url), closing(_pool(self.url).raw_connection()) as pooled:
            connection = cast("psycopg.Connection[Any]", pooled.driver_connection)
            yield connection
            connection.commit()

    @contextmanager
    def writing(self, *, wait: int = 0) -> Iterator[psycopg.Connection[Any]]:
        """Yield a connection in a transaction that writes: writers take turns, readers do not wait.

        A turn is given up after `wait` seconds, 0 for never.
        """
        with self.connection() as connection:
            connection.execute(f"SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '{wait}s'")
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('entail_index'))")
            yield connection

    def lacking(self, numbers: Numbers) -> Numbers:
        """Return those premises without a vector here."""
        with self.connection() as connection:
            return self._lacking(connection, numbers)

    def index(
        self,
        version: Version,
        vectors: ReadVectors,
        *,
        change: tuple[ServerIndex, Change] | None = None,
        progress: ProgressCallback | None = None,
    ) -> ServerIndex:
        """Return the index of a version; write what the database lacks of it, in one transaction."""
        with self.writing(wait=SEARCH_SECONDS if change else 0) as connection:
            # Changing the table's storage would let searches wait until the end of the transaction.
            if not self._exists(connection):
                connection.execute(self.sql(_TABLES))
            line, number = self._register(connection, version, change)
            lacking = self._lacking(connection, change[1].added if change else version.numbers)
            self._load(connection, version, lacking, vectors, progress)
            if change is None:
                # After the first load: an index that is built over all vectors at once is done sooner.
                name = f"{self.name.removeprefix('entail_index.')}_hnsw"
                connection.execute(self.sql(_HNSW, name=name, links=LINKS, breadth=BREADTH))
                connection.execute(self.sql("ANALYZE entail_index.members, {vectors}"))
        return ServerIndex(self, version, line, number)

    def nearest(self, index: ServerIndex, vectors: Floats, k: int, wide: int) -> list[Candidates]:
        """Return candidates from the HNSW index; see `VectorServer`."""
        with self.connection() as connection:
            candidates = self._candidates(connection, index, vectors, wide, _NEAR)
            short = [row for row, (numbers, _) in enumerate(candidates) if len(numbers) < k]
            if short:
                exact = self._candidates(connection, index, vectors[short], wide, _EXACT)
                for row, compared in zip(short, exact, strict=True):
                    candidates[row] = compared
        return candidates

    def read(self, index: ServerIndex, numbers: Numbers) -> Candidates:
        """Return the stored vectors of premises; see `VectorServer`."""
        statement = self.sql("SELECT number, vector FROM {vectors} WHERE number = ANY(%s)")
        with self.connection() as connection:
            return self._rows(connection.execute(statement, (_signed(numbers),), binary=True))

    def _candidates(
        self,
        connection: psycopg.Connection[Any],
        index: ServerIndex,
        vectors: Floats,
        count: int,
        distance: str,
    ) -> list[Candidates]:
        """Return the nearest premises of each query as the server has them, by one exchange with it."""
        from pgvector import HalfVector

        statement, version = self.sql(_SEARCH, distance=distance), (index.line, index.number, index.number)
        with connection.pipeline():
            # Of a small part of the table more is read than asked for, until there are enough of the part.
            breadths = max(LEAST_BREADTH, count), SEARCH_BREADTH, float(len(index.version))
            connection.execute(_SETTINGS, (f"{SEARCH_SECONDS}s", str(SCANNED), *breadths, self.name))
            cursors = [
                connection.execute(statement, (*version, HalfVector(query), count), binary=True)
                for query in vectors
            ]
        return [self._rows(cursor) for cursor in cursors]

    def _rows(self, cursor: psycopg.Cursor[Any]) -> Candidates:
        rows = cursor.fetchall()
        halves = np.array([vector.to_numpy() for _, vector in rows], np.float16)
        return _numbers(rows), halves.reshape(len(rows), self.dimension)

    def _exists(self, connection: psycopg.Connection[Any]) -> bool:
        return connection.execute("SELECT to_regclass(%s)", (self.name,)).fetchone() != (None,)

    def _lacking(self, connection: psycopg.Connection[Any], numbers: Numbers) -> Numbers:
        if not self._exists(connection):
            return numbers
        statement, parameters = self.sql(_LACKING), (_signed(numbers),)
        return _numbers(connection.execute(statement, parameters, binary=True).fetchall())

    def _register(
        self,
        connection: psycopg.Connection[Any],
        version: Version,
        change: tuple[ServerIndex, Change] | None,
    ) -> tuple[int, int]:
        """Return line and number of a version; a new one continues the line nearest to it."""
        row = connection.execute(
            "SELECT line, version FROM entail_index.versions WHERE name = %s", (version.name,)
        ).fetchone()
        if row is not None:
            return row[0], row[1]
        line = int(change[0].line) if change else _nearest_line(connection, version)
        latest: int = connection.execute(
            "SELECT coalesce(max(version), 0) FROM entail_index.versions WHERE line = %s", (line,)
        ).fetchall()[0][0]
        if change and latest == change[0].number:
            added, retired = change[1].added, change[1].retired
        else:
            rows = connection.execute(
                "SELECT number FROM entail_index.members WHERE line = %s AND retired = %s",
                (line, _FOREVER),
                binary=True,
            ).fetchall()
            before = _numbers(rows)
            added = np.setdiff1d(version.numbers, before, assume_unique=True)
            retired = np.setdiff1d(before, version.numbers, assume_unique=True)
        new = latest + 1
        _copy(
            connection,
            "entail_index.members (line, number, added, retired)",
            ("int4", "int8", "int4", "int4"),
            ((line, number, new, _FOREVER) for number in _signed(added)),
        )
        connection.execute(
            "UPDATE entail_index.members SET retired = %s "
            "WHERE line = %s AND number = ANY(%s) AND retired = %s",
            (new, line, _signed(retired), _FOREVER),
        )
        connection.execute(
            "INSERT INTO entail_index.versions (name, line, version) VALUES (%s, %s, %s)",
            (version.name, line, new),
        )
        return line, new

    def _load(
        self,
        connection: psycopg.Connection[Any],
        version: Version,
        numbers: Numbers,
        vectors: ReadVectors,
        progress: ProgressCallback | None,
    ) -> None:
        """Write the vectors of some premises."""
        from pgvector import HalfVector

        positions = version.positions(numbers)
        in_order = np.argsort(positions)
        meter = Meter(len(positions), "loading vectors", unit="premises", report=progress)

        def rows() -> Iterator[tuple[int, HalfVector]]:
            for start in range(0, len(positions), BLOCK):
                block = in_order[start : start + BLOCK]
                read = vectors(positions[block]).astype(np.float16)
                yield from zip(_signed(numbers[block]), map(HalfVector, read), strict=True)
                meter.add(len(block))

        if positions.size:
            _copy(connection, self.sql("{vectors} (number, vector)"), ("int8", "halfvec"), rows())


class PgvectorEngine(ServerEngine):
    """Engine of PostgreSQL with pgvector, in the database of `ENTAIL_INDEX_URL`, by default the trees'."""

    name = "pgvector"
    widest = 4000  # of a `halfvec` that HNSW indexes
    server = VectorTable

    def missing(self) -> str:
        """Return what to install or set; see `Engine.missing`."""
        if find_spec("pgvector") is None:
            return "install its client with `pip install pgvector`"
        return "" if self.url() else "set ENTAIL_INDEX_URL to postgresql://USER:PASSWORD@HOST/NAME"

    def url(self) -> str:
        """Return the URL of the PostgreSQL database of vectors; empty if none is set."""
        settings = load_settings()
        url = settings.index_url or settings.database_url
        if not url.startswith("postgres"):
            return ""
        return re.sub(r"^postgres(ql)?(\+psycopg)?(?=:)", "postgresql", url)


@cache
def _pool(url: str) -> sa.Engine:
    import sqlalchemy as sa
    from pgvector.psycopg import register_vector

    parsed = sa.engine.make_url(url).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(
        parsed, pool_pre_ping=True, connect_args={"connect_timeout": 10, "prepare_threshold": None}
    )

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: psycopg.Connection[Any], _record: object) -> None:
        rows = connection.execute(_INSTALLED).fetchall()
        if not rows:
            # Of two programs that start at once, PostgreSQL would refuse the second.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('entail_index_extension'))")
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            rows = connection.execute(_INSTALLED).fetchall()
        installed: str = rows[0][0]
        if tuple(map(int, installed.split(".")[:2])) < _OLDEST:
            raise failure(url, "version", f"it has pgvector {installed}")
        connection.commit()
        register_vector(connection)
        connection.commit()

    return engine


def _nearest_line(connection: psycopg.Connection[Any], version: Version) -> int:
    """Return the line whose last version has most of a sample of premises, at least half; else a new one."""
    sample = version.numbers[:: max(1, len(version) // 1000)]
    row = connection.execute(
        "SELECT line FROM entail_index.members WHERE number = ANY(%s) AND retired = %s "
        "GROUP BY line HAVING 2 * count(*) >= %s ORDER BY count(*) DESC, line LIMIT 1",
        (_signed(sample), _FOREVER, len(sample)),
    ).fetchone()
    if row is not None:
        return int(row[0])
    rows = connection.execute("SELECT coalesce(max(line), 0) + 1 FROM entail_index.versions").fetchall()
    return int(rows[0][0])


def _copy(connection: psycopg.Connection[Any], table: str, types: Sequence[str], rows: Iterator[Any]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def _numbers(rows: Sequence[tuple[Any, ...]]) -> Numbers:
    return np.array([row[0] for row in rows], np.int64).view(np.uint64)


def _signed(numbers: Numbers) -> list[int]:
    signed: list[int] = numbers.view(np.int64).tolist()
    return signed


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn an error of the driver into an `IndexEngineError` with its remedy."""
    import psycopg
    import sqlalchemy as sa

    try:
        yield
    except (psycopg.Error, sa.exc.SQLAlchemyError) as error:
        original = getattr(error, "orig", None) or error
        state = getattr(original, "sqlstate", None) or ""
        connecting = (psycopg.OperationalError, psycopg.InterfaceError, sa.exc.TimeoutError)
        default = "down" if not state and isinstance(original, connecting) else "unexpected"
        reason = next((reason for start, reason in _REASONS.items() if state.startswith(start)), default)
        raise failure(url, reason, original) from error
