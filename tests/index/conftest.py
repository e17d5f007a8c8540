"""An encoder without weights, which counts its calls, and the engines of vector search by name."""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from entail.index.engines import (
    ENGINES,
    Engine,
    Numbers,
    PremiseVectors,
    ReadVectors,
    VectorIndex,
    engine_of,
    load_engine,
)
from entail.index.protocol import Floats, Ints
from entail.index.vectors import unit
from entail.progress import Meter, ProgressCallback

WIDTH = 32

MILVUS = os.environ.get("ENTAIL_TEST_MILVUS")
"""URL of a Milvus server to test; else it is Milvus Lite, which ignores how widely to search."""


class CountingEncoder:
    """Deterministic unit vectors; notes what it was asked to encode."""

    def __init__(self, name: str = "stub", *, dimension: int = 16, symmetric: bool = True) -> None:
        self.name = name
        self.revision = f"{name}@1"
        self.dimension = dimension
        self.symmetric = symmetric
        self.queries: list[str] = []
        self.premises: list[str] = []

    @property
    def premise_revision(self) -> str:
        return self.revision

    def vector(self, text: str) -> Floats:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        numbers = np.random.default_rng(seed).normal(size=self.dimension).astype(np.float32)
        unit: Floats = numbers / np.linalg.norm(numbers)
        return unit

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        self.queries += texts
        prefix = "" if self.symmetric else "query: "
        return self._all([prefix + text for text in texts], progress)

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        self.premises += texts
        return self._all(texts, progress)

    def _all(self, texts: Sequence[str], progress: ProgressCallback | None) -> Floats:
        meter = Meter(len(texts), "encoding", unit="sentences", report=progress, interval=0)
        meter.add(len(texts))
        return np.stack([self.vector(text) for text in texts])


@pytest.fixture
def encoder() -> CountingEncoder:
    return CountingEncoder()


@pytest.fixture
def other_encoder() -> CountingEncoder:
    return CountingEncoder("other")


@pytest.fixture
def asymmetric_encoder() -> CountingEncoder:
    return CountingEncoder("routed", symmetric=False)


@pytest.fixture
def cache_dir(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


CENTRES = np.random.default_rng(7).normal(size=(40, WIDTH))


@cache
def vector_of(number: int) -> Floats:
    vector: Floats = CENTRES[number % 40] + 0.9 * np.random.default_rng(number).normal(size=WIDTH)
    return vector


def vectors_of(numbers: Numbers) -> Floats:
    """Give a unit vector for each number, the same for the same number, around one of forty centres."""
    vectors = np.array([vector_of(number) for number in numbers.tolist()]).reshape(-1, WIDTH)
    return unit((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16))


def numbers_of(count: int, *, seed: int = 1) -> Numbers:
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


class Reader:
    """Reader of the vectors of a version; notes the positions that it was asked for."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.read: list[int] = []

    def __call__(self, positions: Ints) -> Floats:
        self.read += positions.tolist()
        return vectors_of(self.numbers[positions])


def fail(positions: Ints) -> Floats:
    raise OSError("the store was moved")


def premises(
    numbers: Numbers, *, revision: str = "stub@1", read: ReadVectors | None = None
) -> PremiseVectors:
    return PremiseVectors(revision, WIDTH, numbers, read or Reader(numbers))


@pytest.fixture(scope="session")
def milvus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("milvus")


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Give each engine that can run here."""
    if request.param == "pgvector":
        monkeypatch.setenv("ENTAIL_INDEX_URL", request.getfixturevalue("new_postgres_url")())
    if request.param == "milvus":
        pytest.importorskip("pymilvus", reason=load_engine("milvus").missing())
        lite = f"{request.getfixturevalue('milvus_folder')}/milvus.db"
        monkeypatch.setenv("ENTAIL_INDEX_URL", MILVUS or lite)
    monkeypatch.setenv("ENTAIL_INDEX", request.param)
    if missing := load_engine(request.param).missing():
        pytest.skip(missing)
    return engine_of(premises(numbers_of(1)))


Build = Callable[..., VectorIndex]


@pytest.fixture
def build(engine: Engine, request: pytest.FixtureRequest) -> Build:
    """Give a function that builds an index, for an encoder revision of this test's own."""

    def made(numbers: Numbers, *, revision: str = "", read: ReadVectors | None = None) -> VectorIndex:
        return engine.build(premises(numbers, revision=f"{request.node.name} {revision}", read=read))

    return made


def updated(index: VectorIndex, build: Build, numbers: Numbers) -> VectorIndex:
    return index.updated(numbers, Reader(numbers)) or build(numbers)


def whole(index: VectorIndex) -> list[int]:
    """Give the positions of all premises of an index, as a search finds them."""
    positions: list[int] = index.search(vectors_of(numbers_of(1)), k=999).positions[0].tolist()
    return sorted(positions)
