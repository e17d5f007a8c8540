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
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.errors import IndexEngineError, RetrievalError
from entail.index.engines import Numbers, ReadVectors, VectorSpace
from entail.index.protocol import Floats, Hits
from entail.index.ranking import checked_k
from entail.index.servers.versions import Candidates, Change, Version, checked_vectors, rank
from entail.masking import mask_secrets
from entail.progress import Meter, ProgressCallback
from entail.settings import load_settings

if TYPE_CHECKING:
    from pymilvus import MilvusClient

WIDEST, MOST = 32_768, 16_384
"""Most numbers of a vector, and most hits of a search, in Milvus."""

LINKS, BREADTH, SEARCH_BREADTH = 16, 100, 200
"""HNSW: links of a node, candidates when it is linked (`efConstruction`) and when it is searched (`ef`)."""

SECONDS = 30
"""Longest wait for one answer."""

BLOCK = 2000
"""Rows sent at a time."""

_FOREVER = 2**62  # version in which a premise retires that did not yet
_OLDEST = (2, 6)  # has partial upserts
_VERSIONS = "entail_versions"
_lock = threading.RLock()  # of this process: one thread connects or writes at a time


@dataclass(frozen=True, eq=False)
class MilvusIndex:
    """Premise vectors of one corpus version in Milvus; this process holds their keys alone."""

    store: VectorCollection
    version: Version
    line: str
    number: int
    exact: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes in the memory of this process."""
        return self.version.size_bytes

    def search(self, vectors: Floats, *, k: int) -> Hits:
        """Return the k nearest premises of each query vector; see `VectorIndex.search`.

        Twice as many come from Milvus and are ranked by their stored vectors. Where it gives fewer than k,
        all vectors of the version are read and compared.

        Raises:
            RetrievalError: If k is above what Milvus gives.
            IndexEngineError: If the server does not answer, or lost premises.
        """
        size = len(self.version)
        k = checked_k(k, size)
        if k > MOST:
            raise RetrievalError(f"Milvus gives at most {MOST:,} premises, found k = {k:,}; ask for fewer")
        wide = min(size, 2 * k + 10, MOST)
        vectors = checked_vectors(vectors, self.store.dimension)
        if not len(vectors):
            return rank(self.version, vectors, [], k)
        with self.store.client() as client:
            answers = client.search(
                self.store.name,
                data=vectors.tolist(),
                anns_field="vector",
                filter=self.filter,
                limit=wide,
                output_fields=["number", "vector"],
                search_params={"params": {"ef": max(SEARCH_BREADTH, wide)}},
                partition_names=[self.line],
                timeout=SECONDS,
            )
            candidates = [self.store.candidates([hit["entity"] for hit in hits]) for hits in answers]
            if any(len(numbers) < k for numbers, _ in candidates):
                whole = self.store.candidates(self.rows(client, "number", "vector"))
                candidates = [whole] * len(vectors)
        return rank(self.version, vectors, candidates, k)

    def updated(self, numbers: Numbers, vectors: ReadVectors) -> MilvusIndex | None:
        """Return the index of another version of the corpus; see `VectorIndex.updated`."""
        change = self.version.change(numbers)
        return self.store.index(change.after, vectors, change=(self, change))

    @property
    def filter(self) -> str:
        """Expression for the rows of this version."""
        return f"added <= {self.number} and retired > {self.number}"

    def rows(self, client: MilvusClient, *fields: str) -> list[dict[str, Any]]:
        """Return some fields of all rows of this version."""
        pages = client.query_iterator(
            self.store.name,
            batch_size=BLOCK,
            filter=self.filter,
            output_fields=[*fields],
            partition_names=[self.line],
        )
        rows: list[dict[str, Any]] = []
        while page := pages.next():
            rows += page
        pages.close()
        return rows


@dataclass(frozen=True)
class VectorCollection:
    """Collection of the premise vectors of one encoder revision in Milvus."""

    url: str
    revision: str
    dimension: int

    @property
    def name(self) -> str:
        """Name of the collection, different for different revisions."""
        return f"entail_{sha256(f'{self.revision} {self.dimension}'.encode()).hexdigest()[:16]}"

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

    def candidates(self, rows: Sequence[dict[str, Any]]) -> Candidates:
        """Return the keys and vectors of rows."""
        numbers = np.array([row["number"] for row in rows], np.int64).view(np.uint64)
        vectors = np.array([row["vector"] for row in rows], np.float16)
        return numbers, vectors.reshape(len(rows), self.dimension)

    def index(
        self,
        version: Version,
        vectors: ReadVectors,
        *,
        change: tuple[MilvusIndex, Change] | None = None,
        progress: ProgressCallback | None = None,
    ) -> MilvusIndex | None:
        """Return the index of a version; write what the collection lacks of it.

        With `change`, None where the version does not follow it: another one did, or was not completed.

        Raises:
            IndexEngineError: If rows are missing or are too many afterwards.
        """
        with _lock, self.client() as client:
            if change is None:
                self._prepare(client)
            registered = client.get(_VERSIONS, ids=[f"{self.name}/{version.name}"], timeout=SECONDS)
            if registered and registered[0]["complete"]:
                index = MilvusIndex(self, version, registered[0]["line"], registered[0]["number"])
            elif change is None:
                # The line of its own, which a load that ended midway has begun, or not.
                index = MilvusIndex(self, version, f"line_{version.name[:16]}", 1)
                self._write(client, index, version.numbers, np.empty(0, np.uint64), vectors, progress)
            else:
                base = change[0]
                of_line = f'collection == "{self.name}" and line == "{base.line}"'
                rows = client.query(_VERSIONS, filter=of_line, output_fields=["number"], timeout=SECONDS)
                if max(row["number"] for row in rows) != base.number:
                    return None
                index = MilvusIndex(self, version, base.line, base.number + 1)
                self._write(client, index, change[1].added, change[1].retired, vectors, progress)
            self._check(client, index)
        return index

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
        index: MilvusIndex,
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

    def _register(self, client: MilvusClient, index: MilvusIndex, *, complete: bool) -> None:
        row = {
            "id": f"{self.name}/{index.version.name}",
            "collection": self.name,
            "line": index.line,
            "number": index.number,
            "complete": complete,
            "vector": [0.0, 0.0],
        }
        client.upsert(_VERSIONS, [row], timeout=SECONDS)

    def _check(self, client: MilvusClient, index: MilvusIndex) -> None:
        """Raise where the server does not have as many rows of a version as it has premises."""
        rows = client.query(
            self.name,
            filter=index.filter,
            output_fields=["count(*)"],
            partition_names=[index.line],
            timeout=SECONDS,
        )
        if (count := rows[0]["count(*)"]) != len(index.version):
            raise IndexEngineError(
                f"expected {len(index.version):,} vectors of a corpus in Milvus at {_shown(self.url)}, found "
                f"{count:,}: some were lost, or two processes updated it at once; drop its collection "
                f"{self.name}, which is then loaded again",
                reason="incomplete",
            )


class MilvusEngine:
    """Engine of Milvus at `ENTAIL_INDEX_URL`; without it, of Milvus Lite in the data folder."""

    name = "milvus"
    exact = False

    def missing(self) -> str:
        """Return what to install or set; see `Engine.missing`."""
        if find_spec("pymilvus") is None:
            return "install its client with `pip install pymilvus`"
        if milvus_url().startswith("postgres"):
            return "set ENTAIL_INDEX_URL to http://HOST:19530 of Milvus"
        if milvus_url().endswith(".db") and find_spec("milvus_lite") is None:
            return "set ENTAIL_INDEX_URL to http://HOST:19530, or `pip install milvus-lite`"
        return ""

    def supports(self, space: VectorSpace) -> bool:
        """Return whether Milvus holds vectors of this length."""
        return space.metric == "inner_product" and 2 <= space.dimension <= WIDEST

    def build(
        self,
        space: VectorSpace,
        numbers: Numbers,
        vectors: ReadVectors,
        *,
        corpus_hash: str,
        progress: ProgressCallback | None = None,
    ) -> MilvusIndex:
        """Return the index of a corpus version; nothing is written that Milvus has already."""
        collection = VectorCollection(milvus_url(), space.revision, space.dimension)
        index = collection.index(Version.of(numbers), vectors, progress=progress)
        assert index is not None  # as it follows no other
        return index


def milvus_url() -> str:
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
        raise IndexEngineError(
            f"Milvus at {_shown(url)} is of version {version}, expected 2.6 or later; update the server",
            reason="version",
        )
    return client


def _id(line: str, number: int) -> str:
    return f"{line}/{number}"


def _shown(url: str) -> str:
    return mask_secrets(url.partition("?")[0])


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn an error of the client into an `IndexEngineError` with its remedy."""
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except MilvusException as error:
        text = mask_secrets(" ".join(str(error.message).split()))[:300]
        if error.code == 2 or "milvus failed" in text:
            reason = "down"
            remedy = (
                "it does not answer; see that it runs, that ENTAIL_INDEX_URL is right, and that no other "
                "process has opened a file of Milvus Lite"
            )
        elif "deadline" in text.lower():
            reason, remedy = "slow", f"an answer took more than {SECONDS} s; see the server's load and memory"
        elif error.code in (8, 9) or "quota" in text.lower():
            reason, remedy = "full", "it has no room left or limits the rate; make room, then try again"
        elif "auth" in text.lower() or "permission" in text.lower():
            reason, remedy = "permission", "it refuses the user; see user and password in ENTAIL_INDEX_URL"
        else:
            reason, remedy = "unexpected", "it gave an error that is not expected; see the server's log"
        raise IndexEngineError(
            f"Milvus at {_shown(url)} cannot be used: {remedy}, or set ENTAIL_INDEX=flat ({text})",
            reason=reason,
        ) from error
