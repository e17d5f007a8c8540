"""Similarity bias: the preference of a retriever for premises similar to the query (Figure 3 of AE-Enc).

A query is a distinct parent text of gold trees (`entail.evaluation.retrieval.premises`). Its own text
stays among the candidates. The index of the pre-trained encoder, the first one, labels the pairs:

======  ================================================================================================
``TP``  a gold child among its parent's first K (K = 20 in the paper)
``FN``  a gold child that is not
``FP``  any other premise among the first K, the query's own text too; on test TP 1745, FN 541, FP 19935
======  ================================================================================================

Every pair has its token overlap (`entail.data.text`) and its cosine under each encoder. A panel has the
values of one: (a) token overlap, (b) the cosine under the labelling encoder, (c) and so on under the others.
An encoder prefers what is similar where FP stand above FN. In (b) the labels make it so within one query, so
only the comparison across queries is informative. Intervals are 95 % over queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.data.records import Corpus, ExplanationTree
from entail.data.text import jaccard, tokens
from entail.errors import RetrievalError
from entail.evaluation.retrieval.premises import GoldQueries, require_same_corpus, score_batches
from entail.index.protocol import PremiseIndex
from entail.index.ranking import checked_k, top_k
from entail.progress import ProgressCallback
from entail.statistics.paired import Separation, separation
from entail.statistics.ranking import NOT_THERE, Positions, Values

GROUPS = ("TP", "FN", "FP")
"""Names of the codes 0, 1, 2 in `SimilarityBias.group`."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: (a) token overlap, (b) the cosine under the labelling encoder, (c) and so on under others.

    `separation` is that of FP against FN; None if one is empty. `quartiles`: group -> those of a group with
    pairs.
    """

    letter: str
    measure: str
    retriever: str | None
    separation: Separation | None
    quartiles: Mapping[str, tuple[float, float, float]]

    @property
    def finding(self) -> str:
        """Sentence on whether false positives stand above false negatives."""
        title = f"({self.letter}) {self.measure}" + (f", {self.retriever}" if self.retriever else "")
        if self.separation is None:
            return f"{title}: there are no FP or no FN to compare."
        low, high = self.separation.auc_interval
        side = "stand above" if low > 0.5 else "stand below" if high < 0.5 else "cannot be told from"
        return (
            f"{title}: FP {side} FN, P(FP > FN) = {self.separation.auc:.3f} [{low:.3f}, {high:.3f}], "
            f"Cliff's delta {self.separation.delta:+.3f}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "panel": self.letter,
            "measure": self.measure,
            "retriever": self.retriever,
            "finding": self.finding,
            "fp_against_fn": None if self.separation is None else self.separation.to_json(),
        }


@dataclass(frozen=True)
class SimilarityBias:
    """Pairs of Figure 3 with labels and values.

    The pairs of a query are its k retrieved premises, best first, then the gold children that were not found;
    those that the corpus lacks are `missing`, and in no pair. The first of the retrievers labelled the pairs.

    Attributes:
        query: Position of each pair's query in `queries`, ascending, shape (pairs,).
        premise: Position of its premise in the corpus, shape (pairs,).
        group: Code of each pair's group, see `GROUPS`, shape (pairs,).
        overlap: Token overlap of each pair, shape (pairs,).
        cosine: Cosine of each pair under each encoder, shape (retrievers, pairs).
    """

    corpus: Corpus
    k: int
    queries: tuple[str, ...]
    retrievers: tuple[str, ...]
    query: Positions
    premise: Positions
    group: NDArray[np.int8]
    overlap: Values
    cosine: Values
    missing: tuple[str, ...]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of pairs of each group."""
        return {name: int((self.group == code).sum()) for code, name in enumerate(GROUPS)}

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        """Panels (a), (b) and so on."""
        columns: list[tuple[str, str | None, Values]] = [("token overlap", None, self.overlap)]
        columns += [("cosine", *column) for column in zip(self.retrievers, self.cosine, strict=True)]
        upper, lower = self.group == GROUPS.index("FP"), self.group == GROUPS.index("FN")
        return tuple(
            Panel(
                letter=chr(ord("a") + number),
                measure=measure,
                retriever=name,
                separation=separation(values, upper=upper, lower=lower, query=self.query),
                quartiles={
                    group: tuple(np.quantile(values[self.group == code], (0.25, 0.5, 0.75)).tolist())
                    for code, group in enumerate(GROUPS)
                    if self.counts[group]
                },
            )
            for number, (measure, name, values) in enumerate(columns)
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row per pair and encoder, with the texts."""
        for name, cosines in zip(self.retrievers, self.cosine, strict=True):
            for i, (query, premise) in enumerate(zip(self.query, self.premise, strict=True)):
                yield {
                    "query": self.queries[query],
                    "premise": self.corpus.texts[premise],
                    "group": GROUPS[self.group[i]],
                    "overlap": float(self.overlap[i]),
                    "retriever": name,
                    "cosine": float(cosines[i]),
                }

    def to_json(self) -> dict[str, Any]:
        """Return the figures as a JSON-serialisable dict."""
        return {
            "k": self.k,
            "corpus": self.corpus.name,
            "premises": len(self.corpus),
            "queries": len(self.queries),
            "pairs": len(self.query),
            "retrievers": list(self.retrievers),
            "missing": list(self.missing),
            "counts": self.counts,
            "panels": [panel.to_json() for panel in self.panels],
        }


def bias(
    corpus: Corpus,
    trees: Iterable[ExplanationTree],
    indexes: Sequence[PremiseIndex],
    *,
    k: int = 20,
    progress: ProgressCallback | None = None,
) -> SimilarityBias:
    """Label pairs by the first index and measure them under every index.

    The indexes are those of encoders over this corpus: first the pre-trained one; in the paper then one tuned
    on gold triplets (panel c) and one tuned on Iterative AE-Enc data (d). A query retrieves `k` premises.

    Raises:
        RetrievalError: If there is no index, one has no cosine (TF-IDF, BM25), k is below 1, or a cosine is
            not finite.
        ManifestMismatchError: If an index was made from another corpus.
        DataError: If no tree has a proof.
    """
    if not indexes:
        raise RetrievalError("expected at least one encoder's index, which labels the pairs, found none")
    for index in indexes:
        require_same_corpus(corpus, index)
        if index.manifest.metric != "inner_product":
            raise RetrievalError(
                f"{index.name!r} has no vectors, so there is no cosine to measure similarity bias by; give "
                "encoders: minilm, a folder under models/, or a Hub id"
            )
    k = checked_k(k, len(corpus))
    gold = GoldQueries.of(corpus, trees)
    positions: list[Positions] = []
    codes: list[NDArray[np.int8]] = []
    first: list[Values] = []
    for batch, scores in _scores(indexes[0], gold.texts, "labelling", progress):
        for row, retrieved, children in zip(
            scores, top_k(scores, k).positions, gold.children[batch], strict=True
        ):
            lost = children[~np.isin(children, retrieved) & (children != NOT_THERE)]
            positions.append(np.concatenate([retrieved, lost]))
            codes.append(np.r_[np.where(np.isin(retrieved, children), 0, 2), np.ones(len(lost))].astype("i1"))
            first.append(row[positions[-1]].astype(np.float64))
    query = np.repeat(np.arange(len(gold)), [len(row) for row in positions])
    premise = np.concatenate(positions)
    cosine = [np.concatenate(first), *(np.empty(len(query)) for _ in indexes[1:])]
    for index, values in zip(indexes[1:], cosine[1:], strict=True):
        for batch, scores in _scores(index, gold.texts, "measuring", progress):
            pairs = slice(*np.searchsorted(query, [batch.start, batch.stop]))
            values[pairs] = scores[query[pairs] - batch.start, premise[pairs]]
    of_query = [tokens(text) for text in gold.texts]
    of_premise = cache(lambda position: tokens(corpus.texts[position]))
    return SimilarityBias(
        corpus=corpus,
        k=k,
        queries=gold.texts,
        retrievers=tuple(index.name for index in indexes),
        query=query,
        premise=premise,
        group=np.concatenate(codes),
        overlap=np.array([jaccard(of_query[q], of_premise(p)) for q, p in zip(query, premise, strict=True)]),
        cosine=np.stack(cosine),
        missing=gold.missing,
    )


def _scores(
    index: PremiseIndex, queries: Sequence[str], verb: str, progress: ProgressCallback | None
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield the finite scores of batches of queries."""
    for batch, scores in score_batches(
        index, queries, description=f"{verb} with {index.name}", progress=progress
    ):
        if not np.isfinite(scores).all():
            raise RetrievalError(
                f"expected finite cosines from {index.name!r}, found NaN or infinity; its weights are "
                "damaged, or its training diverged"
            )
        yield batch, scores
