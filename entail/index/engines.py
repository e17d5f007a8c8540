"""Engines of vector search: what is asked, apart from who answers, and the choice of an engine by name.

An engine builds indexes of premise vectors. `ENTAIL_INDEX` names it; `auto`, the default, chooses by size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Literal, Protocol, runtime_checkable

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


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSpace:
    """Description of the vectors that are searched.

    Attributes:
        revision: Premise revision of their encoder.
        dimension: Length of a vector.
        metric: Similarity of a query and a premise.
        count: Number of premises.
    """

    revision: str
    dimension: int
    metric: Literal["inner_product"] = "inner_product"
    count: int


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

    def updated(self, numbers: Numbers, vectors: ReadVectors) -> VectorIndex | None:
        """Return the index of another version of the corpus, or None where it must be built.

        Args:
            numbers: Keys of the other version, in its order.
            vectors: Reader of its vectors; called for premises that this index lacks.
        """


class Engine(Protocol):
    """Maker of indexes of one kind."""

    @property
    def name(self) -> str:
        """Name in `ENTAIL_INDEX`."""

    @property
    def exact(self) -> bool:
        """Whether its indexes compare all vectors, or give the same hits."""

    def missing(self) -> str:
        """Return what to install or set before it runs here, as part of a sentence; empty if nothing."""
        return ""

    def supports(self, space: VectorSpace) -> bool:
        """Return whether it can search such vectors."""
        return True

    def build(
        self,
        space: VectorSpace,
        numbers: Numbers,
        vectors: ReadVectors,
        *,
        corpus_hash: str,
        progress: ProgressCallback | None = None,
    ) -> VectorIndex:
        """Return the index of a corpus version; see `VectorIndex.updated` for its arguments."""


class _Engines(Mapping[str, Engine]):
    """Engines by name, each imported at its first use."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def __getitem__(self, name: str) -> Engine:
        return _load(self._paths[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


@cache
def _load(path: str) -> Engine:
    module, _, name = path.partition(":")
    engine: Engine = getattr(import_module(module), name)()
    return engine


ENGINES: Mapping[str, Engine] = _Engines(
    {
        "flat": "entail.index.flat:FlatEngine",
        "ivf": "entail.index.ivf:IvfEngine",
        "milvus": "entail.index.servers.milvus:MilvusEngine",
        "panorama": "entail.index.panorama:PanoramaEngine",
        "pgvector": "entail.index.servers.pgvector:PgvectorEngine",
    }
)
"""Engines by name; importing this module imports none of their libraries."""


PANORAMA_FROM = 50_000
"""Premises from which `panorama` is the default; below, `flat` answers in a few milliseconds."""


def engine_of(space: VectorSpace, *, exact: bool = False) -> Engine:
    """Return the engine that `ENTAIL_INDEX` names, by default the one for the size of a space.

    Args:
        space: The vectors.
        exact: Whether the search must be exact: the default takes the place of an engine that is not, or that
            does not support the space.

    Raises:
        RetrievalError: If no engine has this name, or it cannot run here, or not with such vectors.
    """
    name = load_settings().index
    if name == "auto":
        return _default(space)
    if name not in ENGINES:
        raise RetrievalError(f"ENTAIL_INDEX must be auto, {', '.join(ENGINES)}, found {name!r}")
    engine = ENGINES[name]
    if missing := engine.missing():
        raise RetrievalError(f"the index engine {name} cannot run here: {missing}; or set ENTAIL_INDEX=flat")
    if exact and not (engine.exact and engine.supports(space)):
        return _default(space)
    if not engine.supports(space):
        raise RetrievalError(
            f"the index engine {name} cannot search {space.count:,} vectors of {space.dimension} numbers; "
            "set ENTAIL_INDEX=flat"
        )
    return engine


def _default(space: VectorSpace) -> Engine:
    """Return the exact engine for the size of a space."""
    panorama = ENGINES["panorama"]
    if space.count >= PANORAMA_FROM and not panorama.missing() and panorama.supports(space):
        return panorama
    return ENGINES["flat"]
