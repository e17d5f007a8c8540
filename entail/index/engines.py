"""Engines of vector search: what is asked, apart from who answers, and the choice of an engine by name.

An engine builds indexes of premise vectors. `ENTAIL_INDEX` names it; `auto`, the default, chooses by size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from entail.errors import RetrievalError
from entail.index.protocol import Floats, Hits, Ints
from entail.progress import ProgressCallback
from entail.settings import load_settings

Numbers = NDArray[np.uint64]
"""Keys of premises, each as one number: `int(key, 16)`."""

ReadVectors = Callable[[Ints], Floats]
"""Reader of the vectors at some positions of a corpus, shape (positions, d)."""


@dataclass(frozen=True, slots=True)
class PremiseVectors:
    """Vectors of one corpus version that an engine searches by inner product.

    Attributes:
        revision: Premise revision of their encoder.
        dimension: Length of a vector.
        numbers: Keys of the premises, in the order of the corpus.
        read: Reader of vectors by position.
        queries: Sample of queries, if these are distributed otherwise than the premises.
    """

    revision: str
    dimension: int
    numbers: Numbers
    read: ReadVectors
    queries: Floats | None = None

    def __len__(self) -> int:
        return len(self.numbers)


@runtime_checkable
class VectorIndex(Protocol):
    """Premise vectors of one corpus version, searchable by vector; any number of threads may search it."""

    @property
    def exact(self) -> bool:
        """Whether hits are those of comparing all vectors."""

    @property
    def size_bytes(self) -> int:
        """Bytes in the memory of this process."""

    def search(self, vectors: Floats, *, k: int) -> Hits:
        """Return the k nearest premises of each query vector, by position in the corpus version.

        There are fewer than k only if the corpus holds fewer.
        """

    def read(self, positions: Ints) -> Floats:
        """Return vectors by position."""

    def updated(self, numbers: Numbers, vectors: ReadVectors) -> VectorIndex | None:
        """Return the index of another version of the corpus, or None where it must be built.

        Args:
            numbers: Keys of the other version, in its order.
            vectors: Reader of its vectors; called for premises that this index lacks.
        """


class Engine(Protocol):
    """Maker of indexes of one kind."""

    name: str
    """Name in `ENTAIL_INDEX`."""

    exact: bool
    """Whether its indexes compare all vectors, or give the same hits."""

    def missing(self) -> str:
        """Return what to install or set before it runs here, as part of a sentence; empty if nothing."""
        return ""

    def supports(self, premises: PremiseVectors) -> bool:
        """Return whether it can search such vectors."""
        return True

    def lacking(self, premises: PremiseVectors) -> Ints:
        """Return the positions whose vectors `build` reads; a server may have the others already."""
        return np.arange(len(premises))

    def build(self, premises: PremiseVectors, progress: ProgressCallback | None = None) -> VectorIndex:
        """Return the index of a corpus version."""


ENGINES: Mapping[str, str] = {
    "flat": "entail.index.flat:FlatEngine",
    "ivf": "entail.index.ivf:IvfEngine",
    "milvus": "entail.index.servers.milvus:MilvusEngine",
    "panorama": "entail.index.panorama:PanoramaEngine",
    "pgvector": "entail.index.servers.pgvector:PgvectorEngine",
}
"""Module and class of each engine by name."""


@cache
def load_engine(name: str) -> Engine:
    """Return an engine by name; its library is imported when it is used."""
    module, _, kind = ENGINES[name].partition(":")
    engine: Engine = getattr(import_module(module), kind)()
    return engine


LARGE = 50_000
"""Premises from which `panorama` or a GPU searches by default; below, `flat` takes a few milliseconds."""


def has_gpu() -> bool:
    """Return whether FAISS searches on an NVIDIA GPU: there is one, faiss-gpu, and no `ENTAIL_DEVICE=cpu`."""
    import faiss

    if load_settings().device == "cpu" or not hasattr(faiss, "GpuMultipleClonerOptions"):
        return False
    import torch

    # FAISS itself ends the process where there is no driver.
    return torch.cuda.is_available() and bool(faiss.get_num_gpus())


def engine_of(premises: PremiseVectors, *, exact: bool = False) -> Engine:
    """Return the engine that `ENTAIL_INDEX` names, by default the one for the number of premises.

    Args:
        premises: The vectors.
        exact: Whether the search must be exact: the default takes the place of an engine that is not, or that
            does not support the vectors.

    Raises:
        RetrievalError: If no engine has this name, or it cannot run here, or not with such vectors.
    """
    name = load_settings().index
    if name == "auto":
        return _default(premises)
    if name not in ENGINES:
        raise RetrievalError(f"ENTAIL_INDEX must be auto, {', '.join(ENGINES)}, found {name!r}")
    engine = load_engine(name)
    if missing := engine.missing():
        raise RetrievalError(f"the index engine {name} cannot run here: {missing}; or set ENTAIL_INDEX=flat")
    if exact and not (engine.exact and engine.supports(premises)):
        return _default(premises)
    if not engine.supports(premises):
        raise RetrievalError(
            f"the index engine {name} cannot search {len(premises):,} vectors of {premises.dimension} "
            "numbers; set ENTAIL_INDEX=flat"
        )
    return engine


def _default(premises: PremiseVectors) -> Engine:
    """Return the exact engine for the number of premises."""
    panorama = load_engine("panorama")
    is_better = len(premises) >= LARGE and not panorama.missing() and panorama.supports(premises)
    return panorama if is_better and not has_gpu() else load_engine("flat")
