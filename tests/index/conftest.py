"""An encoder without weights: a text's vector is drawn from its letters, and every call is counted."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from entail.index.protocol import Floats
from entail.progress import Meter, ProgressCallback


class CountingEncoder:
    """Deterministic unit vectors; notes what it was asked to encode."""

    def __init__(self, name: str = "stub", *, dimension: int = 16, symmetric: bool = True) -> None:
        self.name = name
        self.revision = f"{name}@1"
        self.premises_by: str | None = None
        self.dimension = dimension
        self.symmetric = symmetric
        self.queries: list[str] = []
        self.premises: list[str] = []

    @property
    def premise_revision(self) -> str:
        return self.premises_by or self.revision

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
