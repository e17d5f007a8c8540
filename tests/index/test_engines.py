"""Engines by name, and what each of them must give."""

import numpy as np
import pytest

from entail.errors import RetrievalError
from entail.index.engines import ENGINES, VectorIndex, VectorSpace, engine_of

COUNT, DIMENSION = 500, 16
SPACE = VectorSpace(revision="stub@1", dimension=DIMENSION, count=COUNT)
VECTORS = np.random.default_rng(0).normal(size=(COUNT, DIMENSION)).astype(np.float32)
QUERIES = VECTORS[:20] + np.float32(0.1)
NUMBERS = np.random.default_rng(1).integers(0, 2**64 - 1, COUNT, dtype=np.uint64, endpoint=True)


def test_the_engine_is_the_one_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENTAIL_INDEX", raising=False)
    assert engine_of(SPACE) is ENGINES["flat"]
    monkeypatch.setenv("ENTAIL_INDEX", "flat")
    assert engine_of(SPACE).name == "flat"
    monkeypatch.setenv("ENTAIL_INDEX", "gold")
    with pytest.raises(RetrievalError, match="ENTAIL_INDEX"):
        engine_of(SPACE)


def test_flat_compares_all_vectors() -> None:
    index = ENGINES["flat"].build(SPACE, NUMBERS, VECTORS.__getitem__, corpus_hash="0" * 16)
    assert isinstance(index, VectorIndex)
    assert index.exact
    hits = index.search(QUERIES, k=7)
    assert hits.positions.tolist() == np.argsort(-(QUERIES @ VECTORS.T), axis=1)[:, :7].tolist()
    assert index.search(QUERIES, k=9_999).positions.shape == (20, COUNT)
