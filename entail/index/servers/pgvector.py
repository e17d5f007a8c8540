"""Engine of PostgreSQL with pgvector: one table of vectors and one HNSW index for an encoder revision.

A vector is stored once, by the key of its premise. A corpus is a line of versions: each of its premises was
added with one version and may be retired with a later one. So one index answers for all versions, and a
search filters by the version's membership. What a search needs, a transaction has written as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from entail.errors import IndexEngineError
from entail.index.engines import Numbers, ReadVectors, VectorSpace
from entail.index.protocol import Floats, Hits
from entail.index.ranking import checked_k
from entail.index.servers.versions import Candidates, Change, Version, checked_vectors, rank, without
from entail.masking import mask_secrets
from entail.progress import Meter, ProgressCallback
from entail.settings import load_settings

if TYPE_CHECKING:
    import psycopg
    import sqlalchemy as sa

LONGEST = 4000
"""Most numbers of a `halfvec` that HNSW indexes."""

LINKS, BREADTH, SEARCH_BREADTH = 16, 100, 200
"""HNSW: links of a node, candidates when it is linked (`ef_construction`) and when it is searched."""

SCANNED = 100_000
"""Most rows that a filtered search reads from the index before all vectors are compared."""

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
SELECT set_config('statement_timeout', %s, true), set_config('hnsw.ef_search', %s, true),
    set_config('hnsw.max_scan_tuples', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)
"""
_NEAR = "v.vector <#> %s"  # the operator of the index
_EXACT = "(v.vector <#> %s) + 0"  # an expression, which no index orders

_MISSING = """
SELECT m.number FROM entail_index.members m WHERE m.line = %s AND m.added <= %s AND m.retired > %s
AND NOT EXISTS (SELECT FROM {vectors} v WHERE v.number = m.number)
"""
_MISSING_OF = """
SELECT number FROM unnest(%s::bigint[]) number
WHERE NOT EXISTS (SELECT FROM {vectors} v WHERE v.number = number.number)
"""
_HNSW = """
CREATE INDEX IF NOT EXISTS {name} ON {vectors}
USING hnsw (vector halfvec_ip_ops) WITH (m = {links}, ef_construction = {breadth})
"""


@dataclass(frozen=True, eq=False)
class PgvectorIndex:
    """Premise vectors of one corpus version in PostgreSQL; this process holds their keys alone."""

    store: VectorTable
    version: Version
    line: int
    number: int
    exact: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes in the memory of this process."""
        return self.version.size_bytes

    def search(self, vectors: Floats, *, k: int) -> Hits:
        """Return the k nearest premises of each query vector; see `VectorIndex.search`.

        Twice as many come from the HNSW index and are ranked by their stored vectors. Where it gives fewer
        than k, all vectors are compared.

        Raises:
            IndexEngineError: If the server does not answer, or lost premises.
        """
        size = len(self.version)
        k = checked_k(k, size)
        wide = min(size, 2 * k + 10)
        vectors = checked_vectors(vectors, self.store.dimension)
        with self.store.connection() as connection:
            candidates = self._candidates(connection, vectors, wide, _NEAR)
            short = [row for row, (numbers, _) in enumerate(candidates) if len(numbers) < k]
            if short:
                exact = self._candidates(connection, vectors[short], wide, _EXACT)
                for row, compared in zip(short, exact, strict=True):
                    candidates[row] = compared
        return rank(self.version, vectors, candidates, k)

    def updated(self, numbers: Numbers, vectors: ReadVectors) -> PgvectorIndex:
        """Return the index of another version of the corpus; see `VectorIndex.updated`."""
        change = self.version.change(numbers)
        with self.store.writing(wait=SEARCH_SECONDS) as connection:
            line, number = self.store.register(connection, change.after, (self, change))
            added = _signed(change.added)
            missing = connection.execute(self.store.sql(_MISSING_OF), (added,), binary=True).fetchall()
            self.store.load(connection, change.after, _numbers(missing), vectors)
        return PgvectorIndex(self.store, change.after, line, number)

    def _candidates(
        self, connection: psycopg.Connection[Any], vectors: Floats, count: int, distance: str
    ) -> list[Candidates]:
        """Return the nearest premises of each query as the server has them, by one exchange with it."""
        from pgvector import HalfVector

        statement, version = self.store.sql(_SEARCH, distance=distance), (self.line, self.number, self.number)
        with connection.pipeline():
            breadth = min(1000, max(SEARCH_BREADTH, count))
            connection.execute(_SETTINGS, (f"{SEARCH_SECONDS}s", str(breadth), str(SCANNED)))
            cursors = [
                connection.execute(statement, (*version, HalfVector(query), count), binary=True)
                for query in vectors
            ]
        candidates = []
        for cursor in cursors:
            rows = cursor.fetchall()
            halves = np.array([vector.to_numpy() for _, vector in rows], np.float16)
            candidates.append((_numbers(rows), halves.reshape(len(rows), self.store.dimension)))
        return candidates


@dataclass(frozen=True)
class VectorTable:
    """Table of the premise vectors of one encoder revision in a PostgreSQL database."""

    url: str
    revision: str
    dimension: int

    @property
    def name(self) -> str:
        """Name of the table, different for different revisions."""
        slug = sha256(f"{self.revision} {self.dimension}".encode()).hexdigest()[:16]
        return f"entail_index.vectors_{slug}"

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

    def index(
        self, version: Version, vectors: ReadVectors, *, progress: ProgressCallback | None = None
    ) -> PgvectorIndex:
        """Return the index of a version; write what the database lacks of it, in one transaction."""
        with self.writing() as connection:
            # Changing the table's storage would let searches wait until the end of the transaction.
            if connection.execute("SELECT to_regclass(%s)", (self.name,)).fetchone() == (None,):
                connection.execute(self.sql(_TABLES))
            line, number = self.register(connection, version)
            missing = connection.execute(self.sql(_MISSING), (line, number, number), binary=True).fetchall()
            self.load(connection, version, _numbers(missing), vectors, progress)
            # After the first load: an index that is built over all vectors at once is done sooner.
            name = f"{self.name.removeprefix('entail_index.')}_hnsw"
            connection.execute(self.sql(_HNSW, name=name, links=LINKS, breadth=BREADTH))
            connection.execute(self.sql("ANALYZE entail_index.members, {vectors}"))
        return PgvectorIndex(self, version, line, number)

    def register(
        self,
        connection: psycopg.Connection[Any],
        version: Version,
        change: tuple[PgvectorIndex, Change] | None = None,
    ) -> tuple[int, int]:
        """Return line and number of a version; a new one continues the line nearest to it."""
        row = connection.execute(
            "SELECT line, version FROM entail_index.versions WHERE name = %s", (version.name,)
        ).fetchone()
        if row is not None:
            return row[0], row[1]
        line = _nearest_line(connection, version) if change is None else change[0].line
        latest: int = connection.execute(
            "SELECT coalesce(max(version), 0) FROM entail_index.versions WHERE line = %s", (line,)
        ).fetchall()[0][0]
        if change is not None and latest == change[0].number:
            added, retired = change[1].added, change[1].retired
        else:
            rows = connection.execute(
                "SELECT number FROM entail_index.members WHERE line = %s AND retired = %s",
                (line, _FOREVER),
                binary=True,
            ).fetchall()
            before = np.sort(_numbers(rows))
            added, retired = without(version.numbers, before), without(before, version.numbers)
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

    def load(
        self,
        connection: psycopg.Connection[Any],
        version: Version,
        numbers: Numbers,
        vectors: ReadVectors,
        progress: ProgressCallback | None = None,
    ) -> None:
        """Write the vectors of some premises."""
        from pgvector import HalfVector

        positions = np.sort(version.positions(numbers))
        numbers_at = np.empty(len(version), np.uint64)
        numbers_at[version.order] = version.numbers
        meter = Meter(len(positions), "loading vectors", unit="premises", report=progress)

        def rows() -> Iterator[tuple[int, HalfVector]]:
            for start in range(0, len(positions), BLOCK):
                block = positions[start : start + BLOCK]
                read = vectors(block).astype(np.float16)
                yield from zip(_signed(numbers_at[block]), map(HalfVector, read), strict=True)
                meter.add(len(block))

        if positions.size:
            _copy(connection, self.sql("{vectors} (number, vector)"), ("int8", "halfvec"), rows())


class PgvectorEngine:
    """Engine of PostgreSQL with pgvector, in the database of `ENTAIL_INDEX_URL`, by default the trees'."""

    name = "pgvector"
    exact = False

    def missing(self) -> str:
        """Return what to install or set; see `Engine.missing`."""
        if find_spec("pgvector") is None:
            return "install its client with `pip install pgvector`"
        return "" if index_url() else "set ENTAIL_INDEX_URL to postgresql://USER:PASSWORD@HOST/NAME"

    def supports(self, space: VectorSpace) -> bool:
        """Return whether HNSW indexes vectors of this length."""
        return space.metric == "inner_product" and space.dimension <= LONGEST

    def build(
        self,
        space: VectorSpace,
        numbers: Numbers,
        vectors: ReadVectors,
        *,
        corpus_hash: str,
        progress: ProgressCallback | None = None,
    ) -> PgvectorIndex:
        """Return the index of a corpus version; nothing is written that the database has already."""
        table = VectorTable(index_url(), space.revision, space.dimension)
        return table.index(Version.of(numbers), vectors, progress=progress)


def index_url() -> str:
    """Return the URL of the PostgreSQL database of vectors; empty if none is set."""
    settings = load_settings()
    url = settings.index_url or settings.database_url
    return re.sub(r"^postgres(ql)?(\+psycopg)?(?=:)", "postgresql", url) if url.startswith("postgres") else ""


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
        installed = _extension(connection)
        if installed is None:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            installed = _extension(connection)
        if installed is None or tuple(map(int, installed.split(".")[:2])) < _OLDEST:
            raise IndexEngineError(
                f"the database {_shown(url)} has pgvector {installed}, expected 0.8 or later; update it, "
                "then run ALTER EXTENSION vector UPDATE in this database",
                reason="version",
            )
        connection.commit()
        register_vector(connection)
        connection.commit()

    return engine


def _extension(connection: psycopg.Connection[Any]) -> str | None:
    row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    return None if row is None else str(row[0])


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


def _shown(url: str) -> str:
    return mask_secrets(url.partition("?")[0])


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn an error of the driver into an `IndexEngineError` with its remedy."""
    import psycopg
    import sqlalchemy as sa

    try:
        yield
    except (psycopg.Error, sa.exc.SQLAlchemyError) as error:
        original = getattr(error, "orig", None) or error
        connecting = (psycopg.OperationalError, psycopg.InterfaceError, sa.exc.TimeoutError)
        state = getattr(original, "sqlstate", None) or ""
        reason, remedy = next(
            (words for start, words in _REMEDIES.items() if start and state.startswith(start)),
            _REMEDIES[""] if not state and isinstance(original, connecting) else _UNEXPECTED,
        )
        text = mask_secrets(" ".join(str(original).split()))[:300]
        raise IndexEngineError(
            f"the vectors in the database {_shown(url)} cannot be used: {remedy} ({text})", reason=reason
        ) from error


_DOWN = (
    "down",
    "the server does not answer; see that it runs and that ENTAIL_INDEX_URL is right, or set "
    "ENTAIL_INDEX=flat, which searches in memory",
)
_VERSION = (
    "version",
    "pgvector 0.8 or later must be installed on the server; install it, or set ENTAIL_INDEX=flat",
)
_REMEDIES: dict[str, tuple[str, str]] = {
    "57014": (
        "slow",
        f"a search took more than {SEARCH_SECONDS} s; see that the index fits into the server's memory "
        "and that no index is being built",
    ),
    "55P03": ("slow", "another process loads vectors into it; try again when it is done"),
    "53": ("full", "the server has no room left; make room on its disk or in its memory, then try again"),
    "42501": ("permission", "the user may not do this; let its owner grant CREATE on the database"),
    "28": ("permission", "the server refuses the user; see the user and password of ENTAIL_INDEX_URL"),
    "3D": ("down", "there is no such database; see its name in ENTAIL_INDEX_URL"),
    "0A000": _VERSION,
    "58P01": _VERSION,
    "08": _DOWN,
    "57P": _DOWN,
    "": _DOWN,
}
"""Start of an SQLSTATE -> reason and remedy; empty without an answer of the server."""

_UNEXPECTED = ("unexpected", "it gave an error that is not expected; see the server's log")
