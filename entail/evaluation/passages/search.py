"""Search for the k nearest passages of many questions: by BM25, or by vectors in shards on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.errors import EvaluationError
from entail.index.flat import single_threaded_faiss
from entail.index.lexical import load_bm25s
from entail.progress import Meter, ProgressCallback

if TYPE_CHECKING:
    from entail.evaluation.passages.store import PassageStore

Positions = NDArray[np.int64]
Floats = NDArray[np.float32]

MOST_BM25 = 3_000_000
"""Limit of passages for BM25, whose index is in memory."""

_QUERIES = 1_024


def search_vectors(
    queries: Floats, shards: Sequence[Path], *, k: int, progress: ProgressCallback | None = None
) -> Positions:
    """Return the positions of the k passages of greatest inner product, shape (queries, k), -1 where none is.

    Every shard is searched by FAISS, exactly, and the lists are merged; one shard is in memory at a time.
    """
    import faiss

    best = np.full((len(queries), k), -np.inf, dtype=np.float32)
    positions = np.full((len(queries), k), -1, dtype=np.int64)
    first = 0
    meter = Meter(len(queries) * len(shards), "searching passages", unit="searches", report=progress)
    for shard in shards:
        vectors = np.ascontiguousarray(np.load(shard, mmap_mode="r"))
        for at in range(0, len(queries), _QUERIES):
            block = slice(at, at + _QUERIES)
            with single_threaded_faiss():
                scores, indices = faiss.knn(
                    np.ascontiguousarray(queries[block]),
                    vectors,
                    min(k, len(vectors)),
                    metric=faiss.METRIC_INNER_PRODUCT,
                )
            scores = np.hstack([best[block], scores])
            indices = np.hstack([positions[block], np.where(indices < 0, -1, indices + first)])
            order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            best[block] = np.take_along_axis(scores, order, axis=1)
            positions[block] = np.take_along_axis(indices, order, axis=1)
            meter.add(len(scores))
        first += len(vectors)
    return positions


class PassageWords:
    """BM25 index of a pool (Lucene's, k1 0.9, b 0.4, as in Anserini and for DPR's hard negatives).

    Raises:
        EvaluationError: If there are more than `MOST_BM25` passages.
    """

    def __init__(self, store: PassageStore) -> None:
        import Stemmer

        if len(store) > MOST_BM25:
            raise EvaluationError(
                f"expected at most {MOST_BM25:,} passages for BM25, whose index is in memory, found "
                f"{len(store):,}; measure an encoder"
            )
        self._stemmer: Any = Stemmer.Stemmer("english")
        passages = self._words([passage.whole for passage in store])
        self._ranker: Any = None
        if any(passages):
            self._ranker = load_bm25s().BM25(k1=0.9, b=0.4, method="lucene")
            self._ranker.index(passages, show_progress=False)

    def search(
        self, questions: Sequence[str], *, k: int, progress: ProgressCallback | None = None
    ) -> Positions:
        """Return the positions of the k best passages, shape (questions, k), -1 where none shares a word."""
        positions = np.full((len(questions), k), -1, dtype=np.int64)
        if self._ranker is None or not questions:
            return positions
        meter = Meter(len(questions), "searching passages", unit="questions", report=progress)
        for row, words in enumerate(self._words(questions)):
            meter.add(1)
            token_ids = self._ranker.get_tokens_ids(words)
            if not token_ids:
                continue
            scores = self._ranker.get_scores_from_ids(token_ids)
            top = np.argpartition(-scores, min(k, len(scores) - 1))[: k + 1]
            top = top[np.lexsort((top, -scores[top]))][:k]
            top = top[scores[top] > 0]
            positions[row, : len(top)] = top
        return positions

    def _words(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - bm25s's own
        return load_bm25s().tokenize(
            list(texts), stopwords="en", stemmer=self._stemmer, return_ids=False, show_progress=False
        )
