"""The vectors that ship belong to the bundled sample and to the packaged encoder, and to nothing else."""

from pathlib import Path

import numpy as np
import pytest

from entail.data.bundled import sample_corpus, sample_dir, sample_trees
from entail.data.text import premise_key
from entail.encoders.catalogue import resolve
from entail.index import vectors as module
from entail.index.vectors import shipped_vectors, write_shipped

REVISION = resolve("minilm").revision or ""


def test_every_bundled_fact_and_every_parent_has_a_vector() -> None:
    shipped = shipped_vectors(REVISION)
    assert shipped is not None
    assert set(shipped.premises) == set(sample_corpus().keys)
    parents = {
        premise_key(text)
        for tree in sample_trees()
        for text in (tree.hypothesis, *tree.intermediates.values())
    }
    assert set(shipped.queries) == parents
    for vectors in (shipped.premises, shipped.queries):
        stacked = np.stack(list(vectors.values()))
        assert stacked.dtype == np.float16
        assert stacked.shape[1] == 384
        lengths = np.linalg.norm(stacked.astype(np.float32), axis=1)
        np.testing.assert_allclose(lengths, 1, atol=2e-3)


def test_another_encoder_gets_none() -> None:
    assert shipped_vectors("minilm@000000000000") is None


def test_the_files_stay_small() -> None:
    for name in ("premise_vectors.npy", "query_vectors.npy", "vectors.json"):
        assert (sample_dir() / name).stat().st_size < 5 * 2**20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_shipped(
        tmp_path,
        revision="a@1",
        premises={"p": np.array([1, 0], dtype=np.float32), "q": np.array([0, 1], dtype=np.float32)},
        queries={"r": np.array([0.6, 0.8], dtype=np.float32)},
    )
    return tmp_path


def test_what_is_written_is_read(folder: Path) -> None:
    read = module._read_shipped(folder)
    assert read is not None
    assert read.revision == "a@1"
    assert [read.premises[key].tolist() for key in "pq"] == [[1, 0], [0, 1]]
    np.testing.assert_allclose(read.queries["r"], [0.6, 0.8], atol=1e-3)


@pytest.mark.parametrize("name", ["premise_vectors.npy", "query_vectors.npy", "vectors.json"])
def test_a_torn_or_missing_file_means_that_none_ship(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) - 3])
    assert module._read_shipped(folder) is None
    (folder / name).unlink()
    module._read_shipped.cache_clear()
    assert module._read_shipped(folder) is None


def test_keys_and_vectors_of_different_number_mean_that_none_ship(folder: Path) -> None:
    np.save(folder / "premise_vectors.npy", np.zeros((1, 2), dtype=np.float16))
    assert module._read_shipped(folder) is None
