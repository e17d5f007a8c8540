"""Engine of Milvus: one collection of vectors for an encoder revision, one partition for a line of versions.

A row has the version that added its premise and the one that retired it. Milvus has no transactions: a
version is registered before its rows are written and marked complete after them, and one that is not complete
is never searched.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.errors import IndexEngineError
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
    from pymilvus import MilvusClient

SECONDS = 30
"""Longest wait for one answer."""

BLOCK = 2000
"""Rows sent at a time."""

_FOREVER = 2**62  # version in which a premise retires that did not yet
_OLDEST = (2, 6)  # has partial upserts
_VERSIONS = "entail_versions"
_lock = threading.RLock()  # of this process: one thread connects or writes at a time


@dataclass(frozen=True)
class VectorCollection(VectorServer):
    """Collection of the premise vectors of one encoder revision in Milvus."""

    most = 16_384

    @property
    def name(self) -> str:
        """Name of the collection."""
        return f"entail_{self.slug}"

    @contextmanager
    def client(self) -> Iterator[MilvusClient]:
        """Yield the client of the server.

        Raises:
            IndexEngineError: If the server cannot be used; says why and what to do.
        """
        with _explained(self.url):
            with _lock:
                client = _client(self.url)
            yield client

    def lacking(self, numbers: Numbers) -> Numbers:
        """Return no premise of a version that is complete, and all of another one."""
        with self.client() as client:
            registered = self._registered(client, Version.of(numbers))
        return numbers[:0] if registered and registered["complete"] else numbers

    def index(
        self,
        version: Version,
        vectors: ReadVectors,
        *,
        change: tuple[ServerIndex, Change] | None = None,
        progress: ProgressCallback | None = None,
    ) -> ServerIndex | None:
        """Return the index of a version; write what the collection lacks of it.

        With `change`, None where the version does not follow it: another one did, or was not completed.

        Raises:
            IndexEngineError: If rows are missing or are too many afterwards.
        """
        with _lock, self.client() as client:
            if change is None:
                self._prepare(client)
            registered = self._registered(client, version)
            if registered and registered["complete"]:
                index = ServerIndex(self, version, registered["line"], registered["number"])
            elif change is None:
                # The line of its own, which a load that ended midway has begun, or not.
                index = ServerIndex(self, version, f"line_{version.name[:16]}", 1)
                self._write(client, index, version.numbers, version.numbers[:0], vectors, progress)
            else:
                base = change[0]
                of_line = f'collection == "{self.name}" and line == "{base.line}"'
                rows = client.query(_VERSIONS, filter=of_line, output_fields=["number"], timeout=SECONDS)
                if max(row["number"] for row in rows) != base.number:
                    return None
                index = ServerIndex(self, version, base.line, base.number + 1)
                self._write(client, index, change[1].added, change[1].retired, vectors, progress)
            self._check(client, index)
        return index

    def nearest(self, index: ServerIndex, vectors: Floats, k: int, wide: int) -> list[Candidates]:
        """Return candidates from the HNSW index; see `VectorServer`."""
        with self.client() as client:
            answers = client.search(
                self.name,
                data=vectors.tolist(),
                anns_field="vector",
                limit=wide,
                output_fields=["number", "vector"],
                search_params={"params": {"ef": max(SEARCH_BREADTH, wide)}},
                **self._rows_of(index),
            )
            candidates = [self._candidates([hit["entity"] for hit in hits]) for hits in answers]
            if any(len(numbers) < k for numbers, _ in candidates):
                pages = client.query_iterator(
                    self.name, batch_size=BLOCK, output_fields=["number", "vector"], **self._rows_of(index)
                )
                rows: list[dict[str, Any]] = []
                while page := pages.next():
                    rows += page
                pages.close()
                candidates = [self._candidates(rows)] * len(vectors)
        return candidates

    def read(self, index: ServerIndex, numbers: Numbers) -> Candidates:
        """Return the stored vectors of premises; see `VectorServer`."""
        ids, rows = [_id(index.line, number) for number in numbers.view(np.int64).tolist()], list[Any]()
        with self.client() as client:
            for start in range(0, len(ids), BLOCK):
                block = ids[start : start + BLOCK]
                rows += client.get(self.name, block, output_fields=["number", "vector"], timeout=SECONDS)
        return self._candidates(rows)

    def _rows_of(self, index: ServerIndex) -> dict[str, Any]:
        """Return the options of a request for the rows of a version."""
        return {
            "filter": f"added <= {index.number} and retired > {index.number}",
            "partition_names": [index.line],
            "timeout": SECONDS,
        }

    def _candidates(self, rows: Sequence[dict[str, Any]]) -> Candidates:
        numbers = np.array([row["number"] for row in rows], np.int64).view(np.uint64)
        vectors = np.array([row["vector"] for row in rows], np.float16)
        return numbers, vectors.reshape(len(rows), self.dimension)

    def _registered(self, client: MilvusClient, version: Version) -> dict[str, Any] | None:
        """Return the row of a version, None if there is none."""
        if not client.has_collection(_VERSIONS, timeout=SECONDS):
            return None
        rows = client.get(_VERSIONS, ids=[f"{self.name}/{version.name}"], timeout=SECONDS)
        return dict(rows[0]) if rows else None

    def _prepare(self, client: MilvusClient) -> None:
        """Make the collections that are missing."""
        from pymilvus import DataType

        whole, text = DataType.INT64, DataType.VARCHAR
        tables: dict[str, tuple[int, dict[str, Any]]] = {
            self.name: (self.dimension, {"number": whole, "added": whole, "retired": whole}),
            # A collection must have vectors: these are of no use.
            _VERSIONS: (2, {"collection": text, "line": text, "number": whole, "complete": DataType.BOOL}),
        }
        for name, (dimension, fields) in tables.items():
            if client.has_collection(name, timeout=SECONDS):
                continue
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", text, is_primary=True, max_length=128)
            for field, kind in fields.items():
                schema.add_field(field, kind, **({"max_length": 64} if kind == text else {}))
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
            indexes = client.prepare_index_params()
            parameters = {"M": LINKS, "efConstruction": BREADTH}
            indexes.add_index("vector", index_type="HNSW", metric_type="IP", params=parameters)
            client.create_collection(
                name, schema=schema, index_params=indexes, consistency_level="Strong", timeout=SECONDS
            )

    def _write(
        self,
        client: MilvusClient,
        index: ServerIndex,
        added: Numbers,
        retired: Numbers,
        vectors: ReadVectors,
        progress: ProgressCallback | None,
    ) -> None:
        """Add and retire premises with a version, by key: a row that is there already is replaced."""
        self._register(client, index, complete=False)
        if not client.has_partition(self.name, index.line, timeout=SECONDS):
            client.create_partition(self.name, index.line, timeout=SECONDS)
        positions = index.version.positions(added)
        meter = Meter(len(added), "loading vectors", unit="premises", report=progress)
        for start in range(0, len(added), BLOCK):
            block = slice(start, start + BLOCK)
            read = vectors(positions[block]).astype(np.float16).astype(np.float32)
            rows = [
                {
                    "id": _id(index.line, number),
                    "number": number,
                    "added": index.number,
                    "retired": _FOREVER,
                    "vector": vector,
                }
                for number, vector in zip(added[block].view(np.int64).tolist(), read, strict=True)
            ]
            client.upsert(self.name, rows, partition_name=index.line, timeout=SECONDS)
            meter.add(len(rows))
        for start in range(0, len(retired), BLOCK):
            numbers = retired[start : start + BLOCK].view(np.int64).tolist()
            rows = [{"id": _id(index.line, number), "retired": index.number} for number in numbers]
            client.upsert(self.name, rows, partition_name=index.line, partial_update=True, timeout=SECONDS)
        self._check(client, index)
        self._register(client, index, complete=True)

    def _register(self, client: MilvusClient, index: ServerIndex, *, complete: bool) -> None:
        row = {
            "id": f"{self.name}/{index.version.name}",
            "collection": self.name,
            "line": index.line,
            "number": index.number,
            "complete": complete,
            "vector": [0.0, 0.0],
        }
        client.upsert(_VERSIONS, [row], timeout=SECONDS)

    def _check(self, client: MilvusClient, index: ServerIndex) -> None:
        """Raise where the server does not have as many rows of a version as it has premises."""
        rows = client.query(self.name, output_fields=["count(*)"], **self._rows_of(index))
        if (count := rows[0]["count(*)"]) != len(index.version):
            raise IndexEngineError(
                f"expected {len(index.version):,} vectors of a corpus in Milvus, found {count:,}: some were "
                "lost, or two processes updated it at once; drop its collection "
                f"{self.name}, which is then loaded again",
                reason="incomplete",
            )


class MilvusEngine(ServerEngine):
    """Engine of Milvus at `ENTAIL_INDEX_URL`; without it, of Milvus Lite in the data folder."""

    name = "milvus"
    widest = 32_768
    server = VectorCollection

    def missing(self) -> str:
        """Return what to install or set; see `Engine.missing`."""
        if find_spec("pymilvus") is None:
            return "install its client with `pip install pymilvus`"
        if self.url().startswith("postgres"):
            return "set ENTAIL_INDEX_URL to http://HOST:19530 of Milvus"
        if self.url().endswith(".db") and find_spec("milvus_lite") is None:
            return "set ENTAIL_INDEX_URL to http://HOST:19530, or `pip install milvus-lite`"
        return ""

    def url(self) -> str:
        """Return the URL of a Milvus server, or the file of Milvus Lite."""
        settings = load_settings()
        return settings.index_url or str(settings.data_dir / "milvus.db")


@cache
def _client(url: str) -> MilvusClient:
    from pymilvus import MilvusClient

    # It logs each error with its traceback; ours says the same in a sentence.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    client = MilvusClient(url, timeout=SECONDS)
    version = str(client.get_server_version(timeout=SECONDS))
    numbers = version.removeprefix("v").split(".")
    if "lite" not in version and tuple(int(number) for number in numbers[:2]) < _OLDEST:
        raise failure(url, "version", f"it is Milvus {version}")
    return client


def _id(line: str | int, number: int) -> str:
    return f"{line}/{number}"


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn an error of the client into an `IndexEngineError` with its remedy."""
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except MilvusException as error:
        text = str(error.message).lower()
        if error.code == 2 or "milvus failed" in text:
            reason = "down"
        elif "deadline" in text:
            reason = "slow"
        elif error.code in (8, 9) or "quota" in text:
            reason = "full"
        elif "auth" in text or "permission" in text:
            reason = "permission"
        else:
            reason = "unexpected"
        raise failure(url, reason, error.message) from error
