"""Comparison of retrievers on an author's judgements: accepted premises above rejected ones.

Only premises that were judged are ranked (condensed lists; Sakai, 2007, "Alternatives to bpref"). What was
judged came from the lists of one retriever, so figures over the whole corpus would favour that one.
"""

from __future__ import annotations

import numpy as np

from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.errors import DataError
from entail.evaluation.retrieval.paired import PairedComparison, QueryFigures, compare_paired
from entail.evaluation.retrieval.premises import require_same_corpus, score_batches
from entail.index.protocol import PremiseIndex
from entail.progress import ProgressCallback
from entail.statistics.ranking import GoldRanks, average_precision, ranks_of

MEASURE = "MAP, judged premises"
"""Name of the figure."""


def compare_on_judgements(
    corpus: Corpus,
    judgements: Judgements,
    indexes: tuple[PremiseIndex, PremiseIndex],
    *,
    progress: ProgressCallback | None = None,
) -> PairedComparison:
    """Compare the active retriever, the first, with another one.

    A query without accepted and rejected premises of the corpus tells nothing and is left out.

    Raises:
        ManifestMismatchError: If an index was made from another corpus.
        DataError: If no query is left.
    """
    queries: dict[str, tuple[list[int], list[int]]] = {}  # positions of accepted, of rejected premises
    for query, premises in judgements.accepted.items():
        accepted, rejected = (
            [position for text in texts if (position := corpus.position(text)) is not None]
            for texts in (premises, judgements.rejected.get(query, ()))
        )
        if accepted and rejected:
            queries[query] = accepted, rejected
    if not queries:
        raise DataError(
            f"expected a sentence with accepted and rejected premises of {corpus.name!r}, found none; accept "
            "and reject some"
        )
    positions = list(queries.values())
    count = sum(len(accepted) + len(rejected) for accepted, rejected in positions)
    figures = []
    for index in indexes:
        require_same_corpus(corpus, index)
        parts: list[GoldRanks] = []
        for batch, scores in score_batches(
            index, tuple(queries), description=f"ranking with {index.name}", progress=progress
        ):
            for row, (accepted, rejected) in zip(scores, positions[batch], strict=True):
                parts.append(ranks_of(row[None, [*accepted, *rejected]], [range(len(accepted))]))
        values = average_precision(GoldRanks.concatenate(parts))
        figures.append(
            QueryFigures(
                encoder=index.name,
                revision=index.manifest.revision,
                split=f"{count:,} judgements",
                queries=tuple(queries),
                primary=MEASURE,
                values={MEASURE: (values, np.ones(len(queries)))},
            )
        )
    return compare_paired(*figures)
