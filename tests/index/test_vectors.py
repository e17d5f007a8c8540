"""Vectors are encoded once, cached whole, and never taken for another encoder's or corpus's."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.bundled import held_out_corpus, held_out_trees, sample_corpus, sample_dir, sample_trees
from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.encoders.catalogue import resolve
from entail.errors import ManifestMismatchError
from entail.index import vectors as module
from entail.index.dense import DenseIndex
from entail.index.vectors import QueryVectors, premise_vectors, shipped_queries
from entail.progress import Progress
from tests.conftest import script
from tests.trees.conftest import at_once

TEXTS = ["ice is cold", "fire is hot", "the moon is a rock"]
CORPUS = Corpus.of("tiny", TEXTS)
MINILM = "minilm@53aa51172d14"
SHELF = Path("stub@1")


def _manifest(cache_dir: Path) -> Path:
    """Return the manifest of the only segment."""
    (manifest,) = (cache_dir / SHELF).glob("*.json")
    return manifest


def _change_manifest(cache_dir: Path, **fields: object) -> None:
    file = _manifest(cache_dir)
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | fields))


def test_vectors_are_in_the_order_of_the_corpus_and_encoded_once(encoder: Any, cache_dir: Path) -> None:
    first = premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    assert first.dtype == np.float32
    np.testing.assert_allclose(first, [encoder.vector(text) for text in TEXTS], atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(premise_vectors(CORPUS, encoder, cache_dir=cache_dir), first)
    assert encoder.premises == TEXTS
    np.testing.assert_array_equal(premise_vectors(CORPUS, encoder, cache_dir=None), first)
    assert encoder.premises == TEXTS * 2
    with pytest.raises(ManifestMismatchError):
        DenseIndex(encoder, CORPUS, first[:2])


def test_only_new_premises_are_encoded(encoder: Any, cache_dir: Path) -> None:
    for text in TEXTS:  # from several entries
        premise_vectors(Corpus.of("one", [text]), encoder, cache_dir=cache_dir)
    encoder.premises.clear()
    progress: list[Progress] = []
    grown = Corpus.of("grown", ["a star  is hot , too", *reversed(TEXTS)])
    vectors = premise_vectors(grown, encoder, cache_dir=cache_dir, progress=progress.append)
    assert encoder.premises == ["a star is hot, too"]  # folded
    assert [(p.done, p.total) for p in progress] == [(1, 1)]
    expected = [encoder.vector(text) for text in ("a star is hot, too", *reversed(TEXTS))]
    np.testing.assert_allclose(vectors, expected, atol=1e-3)
    assert premise_vectors(Corpus.of("fewer", TEXTS[1:]), encoder, cache_dir=cache_dir).shape == (2, 16)
    assert len(encoder.premises) == 1


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("damage", [_truncate, _flip, Path.unlink])
@pytest.mark.parametrize("name", ["rows.npy", "numbers.npy", "json"])
def test_premises_of_a_damaged_segment_are_encoded_again(
    encoder: Any, cache_dir: Path, name: str, damage: Any
) -> None:
    first = premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    damage(_manifest(cache_dir).with_suffix(f".{name}"))
    for _ in range(2):
        np.testing.assert_array_equal(premise_vectors(CORPUS, encoder, cache_dir=cache_dir), first)
    assert encoder.premises == [*TEXTS, *TEXTS]


@pytest.mark.parametrize(
    "content", [np.array([{"a": 1}], dtype=object), np.full((3, 16), np.nan, dtype=np.float16)]
)
def test_pickles_and_numbers_that_are_not_finite_are_made_again(
    encoder: Any, cache_dir: Path, content: Any
) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    file = _manifest(cache_dir).with_suffix(".rows.npy")
    np.save(file, content, allow_pickle=True)
    _change_manifest(cache_dir, rows_sha256=module.sha256(file.read_bytes()).hexdigest())
    assert np.isfinite(premise_vectors(CORPUS, encoder, cache_dir=cache_dir)).all()
    assert encoder.premises == [*TEXTS, *TEXTS]


def test_segments_of_something_else_are_ignored(encoder: Any, other_encoder: Any, cache_dir: Path) -> None:
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    shutil.copytree(cache_dir / SHELF, cache_dir / "other@1")
    premise_vectors(Corpus.of("more", [*TEXTS, "new"]), other_encoder, cache_dir=cache_dir)
    assert other_encoder.premises == [*TEXTS, "new"]
    _change_manifest(cache_dir, metric="gaussian")
    premise_vectors(CORPUS, encoder, cache_dir=cache_dir)
    assert encoder.premises == [*TEXTS, *TEXTS]


def test_concurrent_threads_encode_once(encoder: Any, cache_dir: Path) -> None:
    first, *rest = at_once(lambda _: premise_vectors(CORPUS, encoder, cache_dir=cache_dir), range(4))
    assert encoder.premises == TEXTS
    for result in rest:
        np.testing.assert_array_equal(result, first)


def test_the_bundled_corpus_needs_neither_encoder_nor_disk(encoder: Any, cache_dir: Path) -> None:
    encoder.revision, encoder.dimension = MINILM, 384
    vectors = premise_vectors(sample_corpus(), encoder, cache_dir=cache_dir)
    assert vectors.shape == (len(sample_corpus()), 384)
    assert not cache_dir.exists()
    grown = Corpus.of("grown", [*sample_corpus().texts[:50], "my own fact", *sample_corpus().texts[50:60]])
    mixed = premise_vectors(grown, encoder, cache_dir=cache_dir)
    assert encoder.premises == ["my own fact"]
    np.testing.assert_allclose(mixed[:50], vectors[:50], atol=1e-3)
    np.testing.assert_allclose(mixed[50], encoder.vector("my own fact"), atol=1e-3)


def test_every_bundled_fact_and_every_parent_has_a_vector() -> None:
    assert shipped_queries("minilm@000000000000") == {}
    queries = shipped_queries(MINILM)
    record = json.loads((sample_dir() / "vectors.json").read_text(encoding="utf-8"))
    assert record["premise_keys"] == list(held_out_corpus().keys)
    trees = (*sample_trees(), *held_out_trees())
    parents = {text for tree in trees for text in (tree.hypothesis, *tree.intermediates.values())}
    debiased = shipped_queries(str(resolve("aeenc-minilm").revision))
    assert set(queries) == set(debiased) == set(map(premise_key, parents))
    for vectors in (queries, debiased):
        stacked = np.stack(list(vectors.values()))
        assert (stacked.dtype, stacked.shape[1]) == (np.float16, 384)
        np.testing.assert_allclose(np.linalg.norm(stacked.astype(np.float32), axis=1), 1, atol=2e-3)
    for name in ("premise_vectors.npy", "query_vectors.npy", "vectors.json"):
        assert (sample_dir() / name).stat().st_size < 5 * 2**20


@pytest.fixture
def shipped_folder(tmp_path: Path) -> Path:
    script("build_sample_vectors").write_shipped(
        tmp_path,
        revision="a@1",
        premises={"p": np.array([1, 0], dtype=np.float32), "q": np.array([0, 1], dtype=np.float32)},
        queries={"a@1": {"r": np.array([0.6, 0.8], dtype=np.float32)}},
    )
    return tmp_path


@pytest.mark.parametrize("name", ["premise_vectors.npy", "query_vectors.npy", "vectors.json"])
@pytest.mark.parametrize("damage", [_truncate, Path.unlink])
def test_damaged_or_missing_shipped_vectors_are_ignored(shipped_folder: Path, name: str, damage: Any) -> None:
    damage(shipped_folder / name)
    assert module._read_shipped(shipped_folder) == ({}, {})


def test_queries_known_given_and_shipped_need_no_encoder(encoder: Any) -> None:
    queries = QueryVectors(encoder)
    first = queries.encode(["ice", "fire", "ice"])
    assert encoder.queries == ["ice", "fire"]
    np.testing.assert_array_equal(first[0], first[2])
    second = queries.encode(["fire", "moon", "ice "])
    assert encoder.queries == ["ice", "fire", "moon"]
    np.testing.assert_array_equal(second, [encoder.vector(text) for text in ("fire", "moon", "ice")])
    queries.encode(["ice  is cold , yes"])
    assert encoder.queries[-1] == "ice is cold, yes"
    assert queries.encode([]).shape == (0, 16)
    encoder.queries.clear()
    vector = np.ones(16, dtype=np.float32)
    vectors = QueryVectors(encoder).encode(["ice"], also={premise_key("ice"): vector})
    np.testing.assert_array_equal(vectors, [vector])
    encoder.revision, encoder.dimension = MINILM, 384
    tree = sample_trees()[0]
    shipped = QueryVectors(encoder).encode([tree.hypothesis, *tree.intermediates.values()])
    np.testing.assert_allclose(np.linalg.norm(shipped, axis=1), 1, atol=1e-6)
    assert encoder.queries == []
