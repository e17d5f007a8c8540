"""What every engine of vector search keeps to, whoever answers."""

import os
import threading
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.errors import IndexEngineError, ManifestMismatchError, RetrievalError
from entail.index.dense import build_dense
from entail.index.engines import Engine, Numbers, VectorIndex, engine_of
from entail.index.protocol import Floats, Ints
from entail.index.vectors import PremiseRows
from tests.index.conftest import (
    MILVUS,
    WIDTH,
    Build,
    Reader,
    fail,
    numbers_of,
    premises,
    updated,
    vectors_of,
    whole,
)
from tests.trees.conftest import at_once

RECALL = 0.95
"""Least mean recall@10 of an engine that is approximate."""

PREMISES = 1000
SERVERS = pytest.mark.parametrize("engine", ["milvus", "pgvector"], indirect=True)


def exact(numbers: Numbers, queries: Floats, k: int) -> Ints:
    scores = queries @ vectors_of(numbers).T
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def assert_near(index: VectorIndex, numbers: Numbers, *, k: int = 10, queries: int = 40) -> None:
    """Check that an index gives the nearest premises of the version `numbers`, and no others."""
    asked_for = vectors_of(numbers_of(queries, seed=99))
    hits = index.search(asked_for, k=k)
    expected = exact(numbers, asked_for, k)
    assert hits.positions.shape == hits.scores.shape == expected.shape
    scores = np.take_along_axis(asked_for @ vectors_of(numbers).T, hits.positions, axis=1)
    np.testing.assert_allclose(hits.scores, scores, atol=1e-5)
    assert (np.diff(hits.scores, axis=1) <= 1e-6).all()
    pairs = zip(hits.positions, expected, strict=True)
    recalls = [len(set(row) & set(best)) / len(best) for row, best in pairs]
    if index.exact:
        np.testing.assert_array_equal(hits.positions, expected)
    if MILVUS or os.environ["ENTAIL_INDEX"] != "milvus":
        assert np.mean(recalls) >= RECALL


def test_nearest_premises_are_returned_best_first(build: Build, engine: Engine) -> None:
    numbers = numbers_of(3 * PREMISES)
    index = build(numbers)
    assert isinstance(index, VectorIndex)
    assert index.exact == engine.exact
    assert index.size_bytes > 0
    assert_near(index, numbers)
    with pytest.raises(RetrievalError):
        index.search(vectors_of(numbers[:1]), k=0)
    if not MILVUS and os.environ["ENTAIL_INDEX"] == "milvus":
        pytest.skip("recall of Milvus is tested on a server alone: set ENTAIL_TEST_MILVUS to its URL")


def test_vectors_are_read_by_position(build: Build) -> None:
    numbers = numbers_of(60)
    index = updated(build(numbers), build, numbers[2:])
    positions = np.array([40, 3, 3, 0])
    np.testing.assert_allclose(index.read(positions), vectors_of(numbers[2:][positions]), atol=1e-6)
    assert index.read(positions[:0]).shape == (0, WIDTH)


def test_all_premises_are_returned_for_a_larger_k(build: Build) -> None:
    for count in (1, 2, 17, 50):
        index = build(numbers_of(count))
        hits = index.search(vectors_of(numbers_of(3, seed=5)), k=500)
        assert np.sort(hits.positions, axis=1).tolist() == [list(range(count))] * 3
        hits = index.search(np.empty((0, WIDTH), np.float32), k=5)
        assert hits.positions.shape == hits.scores.shape == (0, min(count, 5))


def test_a_list_is_never_shorter_than_k(build: Build) -> None:
    """A large part is asked for of a corpus that is a small part of what the engine holds."""
    build(numbers_of(3 * PREMISES, seed=2))
    small = numbers_of(300, seed=3)
    hits = build(small).search(vectors_of(numbers_of(4, seed=5)), k=250)
    assert [len(set(row)) for row in hits.positions.tolist()] == [250] * 4


def test_encoders_of_two_revisions_do_not_mix(build: Build) -> None:
    numbers = numbers_of(500)
    first = build(numbers)
    turned = build(numbers, revision="other", read=lambda at: -vectors_of(numbers[at]))
    query = vectors_of(numbers[:1])
    assert first.search(query, k=1).positions.tolist() == [[0]]
    assert turned.search(-query, k=1).positions.tolist() == [[0]]


def test_a_premise_is_added_retired_corrected_and_added_again(build: Build) -> None:
    numbers, new = numbers_of(PREMISES), numbers_of(3, seed=11)
    index = build(numbers)
    larger = np.concatenate([numbers, new[:1]])
    added = updated(index, build, larger)
    assert added.search(vectors_of(new[:1]), k=1).positions.tolist() == [[PREMISES]]
    smaller = np.delete(larger, 17)
    retired = updated(added, build, smaller)
    assert_near(retired, smaller)
    corrected = smaller.copy()
    corrected[100] = new[1]
    last = updated(retired, build, corrected)
    assert last.search(vectors_of(new[1:2]), k=1).positions.tolist() == [[100]]
    assert_near(last, corrected)
    again = updated(retired, build, larger)
    assert again.search(vectors_of(numbers[17:18]), k=1).positions.tolist() == [[17]]


def test_an_update_reads_the_new_vectors_alone(build: Build) -> None:
    numbers = numbers_of(PREMISES)
    index = build(numbers)
    larger = np.concatenate([numbers, numbers_of(2, seed=11)])
    read = Reader(larger)
    if index.updated(larger, read) is None:
        pytest.skip("this engine builds each version")
    assert sorted(read.read) == [PREMISES, PREMISES + 1]


def test_versions_are_open_at_once_and_each_answers_for_its_own_premises(build: Build) -> None:
    """A tenth, a half and all of one corpus and one more, by indexes made from one another in any order."""
    numbers = numbers_of(PREMISES)
    larger = np.append(numbers, np.uint64(7))
    index = build(numbers)
    half = updated(index, build, numbers[::2])
    grown = updated(index, build, larger)
    tenth = updated(index, build, numbers[::10][::-1])
    again = updated(tenth, build, numbers)
    foreign = build(numbers_of(500, seed=8))
    assert_near(tenth, numbers[::10][::-1])
    assert_near(half, numbers[::2])
    assert_near(grown, larger)
    assert_near(index, numbers)
    assert_near(again, numbers)
    assert_near(foreign, numbers_of(500, seed=8))


def test_what_ends_midway_leaves_the_version_before_and_is_done_again(build: Build) -> None:
    numbers = numbers_of(200)
    with pytest.raises(OSError, match="moved"):
        build(numbers, read=fail)
    index = build(numbers)
    assert whole(index) == list(range(200))
    larger = np.append(numbers[1:], numbers_of(2, seed=11))
    with pytest.raises(OSError, match="moved"):
        index.updated(larger, fail)
    assert whole(index) == list(range(200))
    assert whole(updated(index, build, larger)) == list(range(201))


def test_threads_may_build_one_version_at_once(build: Build) -> None:
    numbers = numbers_of(200)
    assert at_once(lambda _: whole(build(numbers)), range(6)) == [list(range(200))] * 6


def test_a_corpus_is_indexed_again_while_it_is_searched(build: Build) -> None:
    numbers = numbers_of(1000)
    index = build(numbers)
    query = vectors_of(numbers_of(5, seed=99))
    before = index.search(query, k=10).positions.tolist()
    answers: list[object] = []
    ended = threading.Event()

    def search() -> None:
        while not ended.is_set():
            try:
                answers.append(index.search(query, k=10).positions.tolist())
            except Exception as error:
                answers.append(error)

    thread = threading.Thread(target=search)
    thread.start()
    version = index
    for count in range(5):
        numbers = np.concatenate([numbers[20:], numbers_of(20, seed=50 + count)])
        version = updated(version, build, numbers)
    ended.set()
    thread.join()
    assert answers
    assert all(answer == before for answer in answers)
    assert_near(version, numbers)


@SERVERS
def test_a_version_that_a_server_has_is_not_read_again(engine: Engine) -> None:
    version = premises(numbers_of(200), revision="read once")
    assert engine.lacking(version).tolist() == list(range(200))
    engine.build(version)
    again = premises(numbers_of(200), revision="read once", read=fail)
    assert engine.lacking(again).tolist() == []
    assert whole(engine.build(again)) == list(range(200))


@SERVERS
def test_queries_of_another_width_or_without_a_number_are_refused(build: Build) -> None:
    index = build(numbers_of(20))
    with pytest.raises(ManifestMismatchError):
        index.search(np.ones((1, WIDTH + 1), np.float32), k=3)
    with pytest.raises(RetrievalError):
        index.search(np.full((1, WIDTH), np.nan, np.float32), k=3)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("milvus", "http://ann:top-secret@127.0.0.1:1"),
        ("pgvector", "postgresql://ann:top-secret@127.0.0.1:1/x"),
    ],
)
def test_a_server_that_is_down_is_named_before_premises_are_encoded(
    name: str, url: str, encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "milvus":
        pytest.importorskip("pymilvus", reason="its client is optional")
    monkeypatch.setenv("ENTAIL_INDEX", name)
    monkeypatch.setenv("ENTAIL_INDEX_URL", url)
    with pytest.raises(IndexEngineError, match="127") as error:
        build_dense(encoder, PremiseRows(Corpus.of("facts", ["a fact"]), encoder, cache_dir=None))
    assert error.value.reason == "down"
    assert "top-secret" not in str(error.value)
    assert encoder.premises == []


@pytest.mark.parametrize(
    ("name", "settings", "advice"),
    [
        ("milvus", {"ENTAIL_INDEX_URL": "postgresql://ann@host/premises"}, "19530"),
        ("pgvector", {"ENTAIL_DATABASE_URL": "sqlite:///trees.db"}, "ENTAIL_INDEX_URL"),
    ],
)
def test_a_url_of_something_else_is_refused(
    name: str, settings: dict[str, str], advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in {"ENTAIL_INDEX": name, **settings}.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(RetrievalError, match=advice):
        engine_of(premises(numbers_of(10)))
