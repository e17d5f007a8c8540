"""Premise vectors in Milvus: what is its own of failures and of versions."""

from pathlib import Path

import pytest

from entail.errors import IndexEngineError, RetrievalError
from entail.index.engines import load_engine
from entail.index.servers.milvus import VectorCollection
from entail.index.servers.server import ServerIndex
from tests.index.conftest import Build, Reader, numbers_of, premises, vectors_of, whole

NUMBERS = numbers_of(200)
pytestmark = pytest.mark.parametrize("engine", ["milvus"], indirect=True)


def test_a_version_that_another_has_followed_is_built(build: Build) -> None:
    index = build(NUMBERS)
    last = index.updated(NUMBERS[5:], Reader(NUMBERS[5:]))
    assert last is not None
    assert index.updated(NUMBERS[9:], Reader(NUMBERS[9:])) is None
    assert [len(whole(version)) for version in (index, last)] == [200, 195]


def test_lost_rows_never_make_a_list_shorter(build: Build) -> None:
    index = build(NUMBERS)
    assert isinstance(index, ServerIndex)
    assert isinstance(index.server, VectorCollection)
    with index.server.client() as client:
        client.delete(index.server.name, filter="number > 0", partition_name=index.line)
    with pytest.raises(IndexEngineError) as error:
        index.search(vectors_of(NUMBERS[:1]), k=200)
    assert error.value.reason == "incomplete"
    with pytest.raises(IndexEngineError):
        build(NUMBERS)


def test_more_hits_than_milvus_gives_are_refused(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorCollection, "most", 50)
    index = build(NUMBERS)
    assert index.search(vectors_of(NUMBERS[:1]), k=50).positions.shape == (1, 50)
    with pytest.raises(RetrievalError, match="50"):
        index.search(vectors_of(NUMBERS[:1]), k=51)


@pytest.mark.usefixtures("engine")
def test_a_file_that_is_no_database_of_milvus_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("milvus_lite", reason="milvus-lite is not installed")
    (tmp_path / "notes.db").write_text("trees", encoding="utf-8")
    monkeypatch.setenv("ENTAIL_INDEX_URL", str(tmp_path / "notes.db"))
    with pytest.raises(IndexEngineError, match=r"notes\.db") as error:
        load_engine("milvus").build(premises(NUMBERS))
    assert error.value.reason == "down"
