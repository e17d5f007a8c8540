"""Premise vectors in Milvus: failures of the server, and loads that end midway."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pymilvus", reason="pymilvus is not installed")
pytest.importorskip("milvus_lite", reason="milvus-lite is not installed")

from entail.errors import IndexEngineError, ManifestMismatchError, RetrievalError
from entail.index.engines import PremiseVectors, VectorIndex, engine_of, load_engine
from entail.index.protocol import Floats, Ints
from entail.index.servers.milvus import VectorCollection
from entail.index.servers.server import ServerIndex

WIDTH = 8
NUMBERS = np.random.default_rng(1).integers(0, 2**64, 200, dtype=np.uint64)
VECTORS = np.random.default_rng(2).normal(size=(300, WIDTH)).astype(np.float32)


def read(positions: Ints) -> Floats:
    vectors: Floats = VECTORS[positions]
    return vectors


def fail(positions: Ints) -> Floats:
    raise OSError("the store was moved")


@pytest.fixture(autouse=True)
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    file = str(tmp_path / "milvus.db")
    monkeypatch.setenv("ENTAIL_INDEX_URL", file)
    monkeypatch.setenv("ENTAIL_INDEX", "milvus")
    return file


def premises(vectors: Any = read, *, numbers: Any = NUMBERS) -> PremiseVectors:
    return PremiseVectors("stub@1", WIDTH, numbers, vectors)


def build(vectors: Any = read, *, numbers: Any = NUMBERS) -> ServerIndex:
    index = load_engine("milvus").build(premises(vectors, numbers=numbers))
    assert isinstance(index, ServerIndex)
    return index


def whole(index: VectorIndex) -> list[int]:
    positions: list[int] = index.search(VECTORS[:1], k=999).positions[0].tolist()
    return sorted(positions)


def test_a_version_that_is_there_is_not_read_again() -> None:
    engine = load_engine("milvus")
    assert engine.lacking(premises()).tolist() == list(range(200))
    build()
    assert engine.lacking(premises(fail)).tolist() == []
    assert whole(build(fail)) == list(range(200))


def test_a_load_that_ends_midway_is_done_again() -> None:
    with pytest.raises(OSError, match="moved"):
        build(fail)
    assert whole(build()) == list(range(200))


def test_an_update_that_ends_midway_leaves_the_version_before_and_is_built() -> None:
    index = build()
    larger = np.append(NUMBERS[1:], np.uint64(7))
    with pytest.raises(OSError, match="moved"):
        index.updated(larger, fail)
    assert whole(index) == list(range(200))
    assert index.updated(larger, read) is None
    assert whole(build(numbers=larger)) == list(range(200))


def test_a_version_that_another_has_followed_is_built() -> None:
    index = build()
    last = index.updated(NUMBERS[5:], read)
    assert last is not None
    assert index.updated(NUMBERS[9:], read) is None
    assert [len(whole(version)) for version in (index, last)] == [200, 195]


def test_lost_rows_never_make_a_list_shorter() -> None:
    index = build()
    assert isinstance(index.server, VectorCollection)
    with index.server.client() as client:
        client.delete(index.server.name, filter="number > 0", partition_name=index.line)
    with pytest.raises(IndexEngineError) as error:
        index.search(VECTORS[:1], k=200)
    assert error.value.reason == "incomplete"
    with pytest.raises(IndexEngineError):
        build()


def test_queries_of_another_width_or_without_a_number_are_refused() -> None:
    index = build()
    with pytest.raises(ManifestMismatchError):
        index.search(np.ones((1, WIDTH + 1), np.float32), k=3)
    with pytest.raises(RetrievalError):
        index.search(np.full((1, WIDTH), np.nan, np.float32), k=3)


def test_more_hits_than_milvus_gives_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorCollection, "most", 50)
    index = build()
    assert index.search(VECTORS[:1], k=50).positions.shape == (1, 50)
    with pytest.raises(RetrievalError, match="50"):
        index.search(VECTORS[:1], k=51)


def test_a_server_that_is_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_INDEX_URL", "http://ann:top-secret@127.0.0.1:1")
    with pytest.raises(IndexEngineError, match="127") as error:
        build()
    assert error.value.reason == "down"
    assert "top-secret" not in str(error.value)


def test_a_file_that_is_no_database_of_milvus_is_named(url: str) -> None:
    Path(url).write_text("trees", encoding="utf-8")
    with pytest.raises(IndexEngineError, match=Path(url).name) as error:
        build()
    assert error.value.reason == "down"


def test_a_url_of_postgresql_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_INDEX_URL", "postgresql://ann@host/premises")
    with pytest.raises(RetrievalError, match="19530"):
        engine_of(premises())


def test_two_threads_load_one_version_once() -> None:
    answers: list[list[int]] = []
    threads = [threading.Thread(target=lambda: answers.append(whole(build()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [list(range(200))] * 3
