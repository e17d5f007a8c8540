"""What every engine of vector search keeps to, whoever answers."""

import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from entail.errors import EntailError, RetrievalError
from entail.index.engines import ENGINES, Engine, Numbers, PremiseVectors, VectorIndex, engine_of, load_engine
from entail.index.protocol import Floats, Ints
from entail.index.vectors import unit

WIDTH = 32
RECALL = 0.95
"""Least mean recall@10 of an engine that is approximate."""

PREMISES = 1000

MILVUS = os.environ.get("ENTAIL_TEST_MILVUS")
"""URL of a Milvus server to test; else it is Milvus Lite, which ignores how widely to search."""


def vectors_of(numbers: Numbers) -> Floats:
    """Give a unit vector for each number, the same for the same number, around one of forty centres."""
    vectors = np.array([vector_of(number) for number in numbers.tolist()]).reshape(-1, WIDTH)
    return unit((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16))


CENTRES = np.random.default_rng(7).normal(size=(40, WIDTH))


@cache
def vector_of(number: int) -> Floats:
    vector: Floats = CENTRES[number % 40] + 0.9 * np.random.default_rng(number).normal(size=WIDTH)
    return vector


def numbers_of(count: int, *, seed: int = 1) -> Numbers:
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


def exact(numbers: Numbers, queries: Floats, k: int) -> Ints:
    scores = queries @ vectors_of(numbers).T
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


class Reader:
    """Reader of the vectors of a version; notes the positions that it was asked for."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.read: list[int] = []

    def __call__(self, positions: Ints) -> Floats:
        self.read += positions.tolist()
        return vectors_of(self.numbers[positions])


@pytest.fixture(scope="module")
def milvus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("milvus")


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Engine:
    """Give each engine that can run here."""
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path))
    if request.param == "pgvector":
        monkeypatch.setenv("ENTAIL_INDEX_URL", request.getfixturevalue("new_postgres_url")())
    if request.param == "milvus":
        pytest.importorskip("pymilvus", reason=load_engine("milvus").missing())
        lite = f"{request.getfixturevalue('milvus_folder')}/milvus.db"
        monkeypatch.setenv("ENTAIL_INDEX_URL", MILVUS or lite)
    monkeypatch.setenv("ENTAIL_INDEX", request.param)
    if missing := load_engine(request.param).missing():
        pytest.skip(missing)
    return engine_of(premises(numbers_of(PREMISES)))


def premises(numbers: Numbers, *, revision: str = "stub@1", read: Reader | None = None) -> PremiseVectors:
    return PremiseVectors(revision, WIDTH, numbers, read or Reader(numbers))


Build = Callable[..., VectorIndex]


@pytest.fixture
def build(engine: Engine, request: pytest.FixtureRequest) -> Build:
    """Give a function that builds an index, for an encoder revision of this test's own."""

    def made(numbers: Numbers, *, revision: str = "", read: Reader | None = None) -> VectorIndex:
        return engine.build(premises(numbers, revision=f"{request.node.name} {revision}", read=read))

    return made


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


def updated(index: VectorIndex, build: Build, numbers: Numbers) -> VectorIndex:
    return index.updated(numbers, Reader(numbers)) or build(numbers)


def test_nearest_premises_are_returned_best_first(build: Build) -> None:
    numbers = numbers_of(3 * PREMISES)
    assert_near(build(numbers), numbers)
    if not MILVUS and os.environ["ENTAIL_INDEX"] == "milvus":
        pytest.skip("recall of Milvus is tested on a server alone: set ENTAIL_TEST_MILVUS to its URL")


def test_an_index_says_whether_it_is_exact_and_how_much_memory_it_takes(build: Build, engine: Engine) -> None:
    index = build(numbers_of(200))
    assert isinstance(index, VectorIndex)
    assert index.exact == engine.exact
    assert index.size_bytes > 0


def test_vectors_are_read_by_position(build: Build) -> None:
    numbers = numbers_of(60)
    index = updated(build(numbers), build, numbers[2:])
    positions = np.array([40, 3, 3, 0])
    np.testing.assert_allclose(index.read(positions), vectors_of(numbers[2:][positions]), atol=1e-6)
    assert index.read(positions[:0]).shape == (0, WIDTH)


def test_no_query_gives_no_hits(build: Build) -> None:
    hits = build(numbers_of(50)).search(np.empty((0, WIDTH), np.float32), k=5)
    assert hits.positions.shape == hits.scores.shape == (0, 5)


def test_all_premises_are_returned_for_a_larger_k(build: Build) -> None:
    numbers = numbers_of(50)
    hits = build(numbers).search(vectors_of(numbers_of(3, seed=5)), k=500)
    assert np.sort(hits.positions, axis=1).tolist() == [list(range(50))] * 3


def test_a_list_is_never_shorter_than_k(build: Build) -> None:
    """A large part is asked for of a corpus that is a small part of what the engine holds."""
    build(numbers_of(3 * PREMISES, seed=2))
    small = numbers_of(300, seed=3)
    hits = build(small).search(vectors_of(numbers_of(4, seed=5)), k=250)
    assert [len(set(row)) for row in hits.positions.tolist()] == [250] * 4


def test_a_k_below_one_is_refused(build: Build) -> None:
    with pytest.raises(RetrievalError):
        build(numbers_of(20)).search(vectors_of(numbers_of(1)), k=0)


def test_encoders_of_two_revisions_do_not_mix(build: Build) -> None:
    numbers = numbers_of(500)
    first = build(numbers)
    turned = build(numbers, revision="other", read=lambda at: -vectors_of(numbers[at]))  # type: ignore[arg-type]  # arrays
    query = vectors_of(numbers[:1])
    assert first.search(query, k=1).positions.tolist() == [[0]]
    assert turned.search(-query, k=1).positions.tolist() == [[0]]


def test_a_premise_is_added_retired_and_corrected(build: Build) -> None:
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


def test_an_update_reads_the_new_vectors_alone(build: Build) -> None:
    numbers = numbers_of(PREMISES)
    index = build(numbers)
    larger = np.concatenate([numbers, numbers_of(2, seed=11)])
    read = Reader(larger)
    if index.updated(larger, read) is None:
        pytest.skip("this engine builds each version")
    assert sorted(read.read) == [PREMISES, PREMISES + 1]


def test_versions_are_open_at_once_and_each_answers_for_its_own_premises(build: Build) -> None:
    """A tenth, a half and all of one corpus, by indexes made from one another in any order."""
    numbers = numbers_of(PREMISES)
    whole = build(numbers)
    half = updated(whole, build, numbers[::2])
    tenth = updated(whole, build, numbers[::10][::-1])
    again = updated(tenth, build, numbers)
    foreign = build(numbers_of(500, seed=8))
    assert_near(tenth, numbers[::10][::-1])
    assert_near(half, numbers[::2])
    assert_near(whole, numbers)
    assert_near(again, numbers)
    assert_near(foreign, numbers_of(500, seed=8))


def test_a_retired_premise_comes_back_when_it_is_added_again(build: Build) -> None:
    numbers = numbers_of(400)
    index = updated(updated(build(numbers), build, numbers[1:]), build, numbers)
    assert index.search(vectors_of(numbers[:1]), k=1).positions.tolist() == [[0]]


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


def test_an_engine_that_is_not_there_is_named_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_INDEX", "no-such-engine")
    with pytest.raises(EntailError, match="flat"):
        engine_of(premises(numbers_of(10)))
