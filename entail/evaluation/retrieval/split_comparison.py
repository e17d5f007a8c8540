"""Comparison of two retrievers over many queries: figures with intervals, gain or loss of every query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from entail.data.records import Corpus, ExplanationTree
from entail.evaluation.retrieval.effort import Effort, measure_effort
from entail.evaluation.retrieval.premises import (
    DEFAULT_KS,
    GoldQueries,
    PremiseEvaluation,
    compare_evaluations,
    evaluate_premises,
)
from entail.index.protocol import Floats, PremiseIndex
from entail.index.ranking import ALL_SCORED
from entail.progress import ProgressCallback
from entail.statistics.paired import ComparedFigure
from entail.statistics.ranking import NOT_THERE, average_precision

Protocol = Literal["query_excluded"]
"""Protocol by which queries are compared, the author's view; see `entail.evaluation.retrieval.premises`."""

FOUND_AT = 10
"""Depth at which `QueryChange.found` counts: the candidates of a first page."""


@dataclass(frozen=True, slots=True)
class QueryChange:
    """Results of two retrievers for one query, given by its position and its folded text.

    Attributes:
        ap: Average precision with each retriever.
        found: Gold premises among the first `FOUND_AT` of each.
        premises: Number of gold premises.
        ranks: Rank of each gold premise with each retriever, shape (2, premises); `inf` for no candidate.
    """

    index: int
    query: str
    ap: tuple[float, float]
    found: tuple[int, int]
    premises: int
    ranks: tuple[tuple[float, ...], tuple[float, ...]]

    @property
    def difference(self) -> float:
        """Average precision gained with the second retriever; below 0 where it lost."""
        return self.ap[1] - self.ap[0]


@dataclass(frozen=True)
class SplitComparison:
    """Two retrievers measured on the same trees over the same corpus."""

    corpus: Corpus
    trees: int
    gold: GoldQueries
    evaluations: tuple[PremiseEvaluation, PremiseEvaluation]
    efforts: tuple[Effort, Effort]

    @property
    def names(self) -> tuple[str, str]:
        """Names of the retrievers."""
        return self.evaluations[0].retriever, self.evaluations[1].retriever

    @cached_property
    def figures(self) -> Mapping[str, Mapping[str, ComparedFigure]]:
        """Protocol -> measure -> figures of both; compared at first use."""
        return compare_evaluations(*self.evaluations)

    @cached_property
    def changes(self) -> Mapping[Protocol, tuple[QueryChange, ...]]:
        """Protocol -> every query, in the order of the trees."""
        first, second = (evaluation.query_excluded for evaluation in self.evaluations)
        precisions = zip(average_precision(first).tolist(), average_precision(second).tolist(), strict=True)
        changes = []
        for index, (query, ap) in enumerate(zip(self.gold.texts, precisions, strict=True)):
            own = slice(first.offsets[index], first.offsets[index + 1])
            before, after = tuple(first.ranks[own].tolist()), tuple(second.ranks[own].tolist())
            hits = sum(rank <= FOUND_AT for rank in before), sum(rank <= FOUND_AT for rank in after)
            changes.append(QueryChange(index, query, ap, hits, len(before), (before, after)))
        return {"query_excluded": tuple(changes)}

    def premises(self, position: int) -> tuple[str, ...]:
        """Return a query's gold premises that are candidates, in the order of the proofs."""
        return tuple(self.corpus.texts[p] for p in self.gold.children[position] if p != NOT_THERE)


def compare_split(
    corpus: Corpus,
    trees: Sequence[ExplanationTree],
    indexes: tuple[PremiseIndex, PremiseIndex],
    *,
    ks: Sequence[int] = DEFAULT_KS,
    progress: ProgressCallback | None = None,
) -> SplitComparison:
    """Measure two retrievers on the same trees: ranks and author effort; see `PremiseEvaluation`.

    Raises:
        ManifestMismatchError: If an index was made from another corpus.
        DataError: If no tree has a proof, so that there is nothing to find.
    """
    gold = GoldQueries.of(corpus, trees)
    evaluations, efforts = [], []
    for index in indexes:
        rows: dict[str, Floats] = {}

        def keep(batch: slice, scores: Floats, rows: dict[str, Floats] = rows) -> None:
            rows.update(zip(gold.texts[batch], scores, strict=True))

        def look_up(texts: Sequence[str], rows: dict[str, Floats] = rows) -> Floats:
            return np.stack([rows[text] for text in texts])

        # The scores of a large corpus take more memory than searching twice takes time.
        is_small, proofs = len(corpus) <= ALL_SCORED, [tree for tree in trees if tree.steps]
        on_scores, scores = (keep, look_up) if is_small else (None, None)
        evaluations.append(
            evaluate_premises(corpus, trees, index, ks=ks, gold=gold, on_scores=on_scores, progress=progress)
        )
        efforts.append(measure_effort(corpus, proofs, index, scores=scores))
    return SplitComparison(
        corpus=corpus,
        trees=len(trees),
        gold=gold,
        evaluations=(evaluations[0], evaluations[1]),
        efforts=(efforts[0], efforts[1]),
    )


def query_rows(split: SplitComparison) -> Iterator[tuple[object, ...]]:
    """Yield a header, then every query; rank `inf` means no candidate."""
    columns = [f"{measure} {name}" for measure in ("AP", "found", "ranks") for name in split.names]
    yield "query", "premises", *columns, "difference in AP"
    for change in split.changes["query_excluded"]:
        yield (
            change.query,
            change.premises,
            *(round(ap, 6) for ap in change.ap),
            *change.found,
            *(" ".join(f"{rank:g}" for rank in side) for side in change.ranks),
            round(change.difference, 6),
        )


def most_changed(changes: Sequence[QueryChange], *, gained: bool) -> tuple[QueryChange, ...]:
    """Return the queries that gained with the second retriever, or lost, the most changed first."""
    sign = 1 if gained else -1
    selection = [change for change in changes if sign * change.difference > 0]
    return tuple(sorted(selection, key=lambda change: (-abs(change.difference), change.index)))
