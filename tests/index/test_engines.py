"""Engines by name, and what each of them must give, also for the versions of a corpus."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from entail.errors import RetrievalError
from entail.index.engines import PremiseVectors, engine_of, has_gpu, load_engine
from entail.index.flat import VersionedIndex, align

COUNT, DIMENSION = 500, 16
VECTORS = np.random.default_rng(0).normal(size=(COUNT, DIMENSION)).astype(np.float32)
QUERIES = VECTORS[:20] + np.float32(0.1)
NUMBERS = np.random.default_rng(1).integers(0, 2**64 - 1, COUNT, dtype=np.uint64, endpoint=True)


def test_the_engine_is_the_one_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENTAIL_INDEX", raising=False)
    assert engine_of(_premises(VECTORS)) is load_engine("flat")
    large = PremiseVectors("stub@1", DIMENSION, np.empty(1_000_000, np.uint64), VECTORS.__getitem__)
    assert engine_of(large) is load_engine("panorama")
    narrow = PremiseVectors("stub@1", 3, large.numbers, large.read)
    assert engine_of(narrow) is load_engine("flat")
    monkeypatch.setenv("ENTAIL_INDEX", "flat")
    assert engine_of(large).name == "flat"
    monkeypatch.setenv("ENTAIL_INDEX", "panorama")
    with pytest.raises(RetrievalError, match="3 numbers"):
        engine_of(narrow)
    assert engine_of(narrow, exact=True) is load_engine("flat")
    monkeypatch.setenv("ENTAIL_INDEX", "gold")
    with pytest.raises(RetrievalError, match=r"ENTAIL_INDEX.*flat"):
        engine_of(_premises(VECTORS))


def _premises(vectors: np.ndarray, numbers: np.ndarray = NUMBERS) -> PremiseVectors:
    return PremiseVectors("stub@1", DIMENSION, numbers[: len(vectors)], vectors.__getitem__)


def _build(name: str, positions: Any) -> VersionedIndex:
    """Return the index of a version that has some of the premises, by their place in `VECTORS`."""
    at = np.asarray(positions)
    index = load_engine(name).build(_premises(VECTORS[at], NUMBERS[at]))
    assert isinstance(index, VersionedIndex)
    return index


def _update(index: VersionedIndex, positions: Any) -> VersionedIndex | None:
    """Return the index of another version; count what it reads."""
    positions = np.asarray(positions)
    before = set(index.numbers.tolist())

    def read(rows: np.ndarray) -> np.ndarray:
        assert not before & set(NUMBERS[positions[rows]].tolist())  # only what is new
        return VECTORS[positions[rows]]

    return index.updated(NUMBERS[positions], read)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([5, 6, 7, 8], [5, 6, 7, 8]),
        ([5, 6, 7, 8], [5, 7, 8, 9]),
        ([5, 6, 7, 8], [6]),
        ([5, 6], [1, 2, 5]),
        ([5, 6, 7], [7, 5]),
        (list(range(200)), list(range(0, 200, 2))),
        (list(range(200)), list(range(300))[::-1]),
        ([], [1]),
    ],
)
def test_versions_are_aligned_by_number(old: list[int], new: list[int]) -> None:
    sources = align(np.array(old, np.uint64), np.array(new, np.uint64))
    for number, source in zip(new, sources.tolist(), strict=True):
        assert source == -1 or old[source] == number
    if sorted(new) == new and len(set(old) & set(new)) > 1:
        assert [old[source] for source in sources if source >= 0] == [n for n in new if n in old]


@pytest.mark.parametrize("name", ["flat", "panorama", "ivf"])
def test_versions_rank_as_if_they_were_built(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.index.ivf.CANDIDATES", COUNT)
    version = np.arange(400)
    index: VersionedIndex | None = _build(name, version)
    draw = np.random.default_rng(2)
    for step in range(30):
        added = 400 + step
        retired = draw.choice(len(version), size=step % 3, replace=False)
        version = np.append(np.delete(version, retired), added)
        before, index = index, _update(index, version)  # type: ignore[arg-type]  # not None
        assert index is not None
        assert index.parts[0] is before.parts[0]  # type: ignore[union-attr]  # not None
        assert len(index.parts) < 8
        built = _build(name, version)
        for k in (1, 10, 1000):
            hits, expected = index.search(QUERIES, k=k), built.search(QUERIES, k=k)
            assert hits.positions.tolist() == expected.positions.tolist()
            np.testing.assert_allclose(hits.scores, expected.scores, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(index.scores(QUERIES), built.scores(QUERIES), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(index.read(np.arange(len(version))), VECTORS[version])


@pytest.mark.parametrize("name", ["flat", "panorama", "ivf"])
def test_many_retired_premises_are_never_returned(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index = _build(name, np.arange(COUNT))
    rest = np.delete(np.arange(COUNT), np.arange(0, 200, 3))  # 67: beyond what is fetched in addition
    monkeypatch.setattr("entail.index.flat.SHARE", 2)
    version = _update(index, rest)
    assert version is not None
    hits = version.search(QUERIES, k=len(rest))
    assert np.sort(hits.positions, axis=1).tolist() == [list(range(len(rest)))] * len(QUERIES)
    assert hits.positions.tolist() == _build(name, rest).search(QUERIES, k=len(rest)).positions.tolist()
    # The index before still has them all.
    assert set(index.search(QUERIES, k=COUNT).positions[0]) == set(range(COUNT))


def test_ivf_is_approximate_and_never_returns_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.index.ivf.CANDIDATES", 60)
    monkeypatch.setattr("entail.index.ivf.GROUPS_SEARCHED", 12)
    index = _build("ivf", np.arange(COUNT))
    assert not index.exact
    expected = np.argsort(-(QUERIES @ VECTORS.T), axis=1)[:, :10]
    pairs = zip(index.search(QUERIES, k=10).positions, expected, strict=True)
    assert 0.5 < np.mean([len({*row} & {*best}) / 10 for row, best in pairs]) < 1
    hits = index.search(QUERIES, k=COUNT)
    assert np.sort(hits.positions, axis=1).tolist() == [list(range(COUNT))] * len(QUERIES)
    version = _update(index, np.arange(20, COUNT))
    assert version is not None
    assert not version.exact
    assert (np.sort(version.search(QUERIES, k=COUNT).positions, axis=1) == np.arange(COUNT - 20)).all()


def test_ivf_is_built_once_and_again_if_its_file_is_damaged(own_data_folder: Path) -> None:
    expected = _build("ivf", np.arange(COUNT)).search(QUERIES, k=5).positions.tolist()
    (file,) = own_data_folder.glob("vectors/stub@1/ivf/*.faiss")

    def stamp() -> int:
        assert _build("ivf", np.arange(COUNT)).search(QUERIES, k=5).positions.tolist() == expected
        return file.stat().st_mtime_ns

    before = stamp()
    assert stamp() == before
    content = file.read_bytes()
    for damaged in (content[:1000], content[:-1], b""):
        file.unlink()  # what is mapped stays
        file.write_bytes(damaged)
        assert stamp() != before
    for at in range(5):
        _build("ivf", np.arange(COUNT - at))
    assert len(list(file.parent.iterdir())) == 6


def test_panorama_finds_more_than_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.index.panorama.BATCH", 32)
    index, flat = _build("panorama", np.arange(COUNT)), _build("flat", np.arange(COUNT))
    for k in (30, 100, COUNT):
        assert index.search(QUERIES, k=k).positions.tolist() == flat.search(QUERIES, k=k).positions.tolist()


@pytest.mark.parametrize("sample", ["alike", "of one direction", "of zeros"])
def test_panorama_is_exact_for_queries_of_another_kind(sample: str) -> None:
    scale = np.geomspace(1e-3, 1e3, DIMENSION, dtype=np.float32)
    vectors, queries = VECTORS * scale, QUERIES / scale
    kinds = {"alike": queries, "of one direction": queries[:1], "of zeros": np.zeros_like(queries)}
    index = load_engine("panorama").build(replace(_premises(vectors), queries=kinds[sample]))
    flat = load_engine("flat").build(_premises(vectors)).search(queries, k=10)
    assert index.search(queries, k=10).positions.tolist() == flat.positions.tolist()


def test_panorama_ranks_what_float32_cannot_tell_apart() -> None:
    base = VECTORS[:1] + np.random.default_rng(3).normal(size=(COUNT, DIMENSION)) * 3e-7
    crowd = np.ascontiguousarray(base, dtype=np.float32)
    index = load_engine("panorama").build(_premises(crowd))
    scores = np.einsum("ij,j->i", crowd, VECTORS[0])  # of equal vectors equal ones
    hits = index.search(VECTORS[:1], k=9)
    assert hits.scores[0].tolist() == np.sort(scores)[::-1][:9].tolist()


def test_what_has_little_in_common_is_built() -> None:
    index = _build("flat", np.arange(100))
    assert _update(index, np.arange(80)) is None
    assert _update(index, np.arange(100, 300)) is None
    assert _update(index, np.arange(120)) is not None


def test_equal_vectors_of_several_parts_are_in_order_of_position() -> None:
    same = np.ones((40, DIMENSION), np.float32)
    numbers = np.arange(40, dtype=np.uint64)
    index = load_engine("flat").build(_premises(same[:30], numbers))
    order = np.concatenate([numbers[1:30], numbers[30:32]])
    version = index.updated(order, same.__getitem__)
    assert version is not None
    assert version.search(same[:1], k=30).positions.tolist() == [list(range(30))]


class Gpus:
    """Stand-in for a copy on GPUs, whose sums are rounded otherwise and whose ties are in any order."""

    def __init__(self, index: Any, options: Any) -> None:
        assert options.shard
        self.index, self.searches = index, 0

    def search(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        self.searches += 1
        scores, rows = self.index.search(vectors, k)
        scores = scores * np.float32(1 + 1e-7)
        order = np.lexsort((-rows, -np.round(scores, 5)), axis=1)
        return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[Gpus]:
    copies: list[Gpus] = []

    def copy(index: Any, options: Any) -> Gpus:
        copies.append(Gpus(index, options))
        return copies[-1]

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("faiss.get_num_gpus", lambda: 2)
    monkeypatch.setattr("faiss.GpuMultipleClonerOptions", SimpleNamespace, raising=False)
    monkeypatch.setattr("faiss.index_cpu_to_all_gpus", copy)
    monkeypatch.setattr("entail.index.engines.LARGE", 100)
    monkeypatch.setattr("entail.index.flat.LARGE", 100)
    return copies


def test_a_gpu_gives_the_ranking_of_the_processor(gpus: list[Gpus], monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.concatenate([VECTORS[:300], VECTORS[:200]])  # each of many twice, its ties in any order
    assert engine_of(_premises(vectors)) is load_engine("flat")
    index = load_engine("flat").build(_premises(vectors))
    with monkeypatch.context() as patch:
        patch.setenv("ENTAIL_DEVICE", "cpu")
        exact = load_engine("flat").build(_premises(vectors))
        assert engine_of(_premises(vectors)) is load_engine("panorama")
    assert len(gpus) == 1
    for k in (1, 7, 50, COUNT):
        searches = gpus[0].searches
        hits, expected = index.search(QUERIES, k=k), exact.search(QUERIES, k=k)
        assert hits.positions.tolist() == expected.positions.tolist()
        np.testing.assert_allclose(hits.scores, expected.scores, rtol=1e-5, atol=1e-6)
        assert gpus[0].searches > searches
    version = _update(index, np.arange(7, COUNT))  # type: ignore[arg-type]  # of its kind
    assert version is not None
    assert version.search(QUERIES, k=3).positions.shape == (20, 3)


def test_a_gpu_ranks_what_float32_cannot_tell_apart(gpus: list[Gpus]) -> None:
    crowd = (VECTORS[:1] + np.random.default_rng(3).normal(size=(COUNT, DIMENSION)) * 3e-7).astype(np.float32)
    hits = load_engine("flat").build(_premises(crowd)).search(VECTORS[:1], k=9)
    assert gpus[0].searches == 1
    np.testing.assert_allclose(hits.scores[0], np.sort(crowd @ VECTORS[0])[::-1][:9], rtol=1e-6)


def test_without_room_on_the_gpu_the_processor_searches(
    gpus: list[Gpus], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(index: Any, options: Any) -> None:
        raise RuntimeError("cudaMalloc error out of memory")

    monkeypatch.setattr("faiss.index_cpu_to_all_gpus", refuse)
    hits = load_engine("flat").build(_premises(VECTORS)).search(QUERIES, k=7)
    assert hits.positions.tolist() == np.argsort(-(QUERIES @ VECTORS.T), axis=1)[:, :7].tolist()
    assert "out of memory" in caplog.text


@pytest.mark.skipif(not has_gpu(), reason="needs an NVIDIA GPU and faiss-gpu")
def test_an_nvidia_gpu_gives_the_ranking_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(5)
    vectors = draw.normal(size=(100_000, 384)).astype(np.float32)
    vectors[50_000:] = vectors[:50_000]  # ties
    queries = np.ascontiguousarray(vectors[:30] + draw.normal(size=(30, 384)).astype(np.float32))
    premises = PremiseVectors("stub@1", 384, np.arange(100_000, dtype=np.uint64), vectors.__getitem__)
    on_gpu = load_engine("flat").build(premises)
    monkeypatch.setenv("ENTAIL_DEVICE", "cpu")
    exact = load_engine("flat").build(premises)
    for k in (1, 10, 1000):
        assert on_gpu.search(queries, k=k).positions.tolist() == exact.search(queries, k=k).positions.tolist()
