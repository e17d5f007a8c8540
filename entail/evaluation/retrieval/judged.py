"""Comparison of retrievers on an author's judgements: accepted premises above rejected ones.

Only premises that were judged are ranked (condensed lists; Sakai, 2007, "Alternatives to bpref"). What was
judged came from the lists of one retriever, so figures over the whole corpus would favour that one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.errors import DataError
from entail.evaluation.retrieval.paired import PairedComparison, QueryFigures, compare_paired
from entail.evaluation.retrieval.premises import require_same_corpus, score_batches
from entail.index.protocol import PremiseIndex
from entail.progress import ProgressCallback
from entail.statistics.ranking import GoldRanks, Values, average_precision, ranks_of

MEASURE = "MAP, judged premises"
"""Name of the figure."""


@dataclass(frozen=True)
class JudgedQueries:
    """Queries with accepted and rejected premises, as positions in a corpus.

    Attributes:
        texts: Folded texts of the queries.
        accepted: Positions of the accepted premises of each query.
        rejected: Positions of the rejected ones.
    """

    texts: tuple[str, ...]
    accepted: tuple[tuple[int, ...], ...]
    rejected: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, corpus: Corpus, judgements: Judgements) -> JudgedQueries:
        """Look judged premises up in a corpus; a query without both kinds tells nothing and is left out.

        >>> from entail.data.judgements import JudgedPair
        >>> said = [JudgedPair("q", "a", True), JudgedPair("q", "b", False), JudgedPair("r", "a", True)]
        >>> JudgedQueries.of(Corpus.of("c", ["a", "b"]), Judgements.of_pairs(said))
        JudgedQueries(texts=('q',), accepted=((0,),), rejected=((1,),))
        """
        rows = []
        for query, premises in judgements.accepted.items():
            both = [
                tuple(position for text in texts if (position := corpus.position(text)) is not None)
                for texts in (premises, judgements.rejected.get(query, ()))
            ]
            if all(both):
                rows.append((query, *both))
        return cls(*zip(*rows, strict=True)) if rows else cls((), (), ())

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def judged(self) -> int:
        """Number of judgements."""
        return sum(map(len, self.accepted)) + sum(map(len, self.rejected))


def judged_precision(
    judged: JudgedQueries, index: PremiseIndex, *, progress: ProgressCallback | None = None
) -> Values:
    """Return each query's average precision over its judged premises, shape (queries,)."""
    parts: list[GoldRanks] = []
    for batch, scores in score_batches(
        index, judged.texts, description=f"ranking with {index.name}", progress=progress
    ):
        for row, good, bad in zip(scores, judged.accepted[batch], judged.rejected[batch], strict=True):
            parts.append(ranks_of(row[None, [*good, *bad]], [range(len(good))]))
    return average_precision(GoldRanks.concatenate(parts))


def compare_on_judgements(
    corpus: Corpus,
    judgements: Judgements,
    indexes: tuple[PremiseIndex, PremiseIndex],
    *,
    progress: ProgressCallback | None = None,
) -> PairedComparison:
    """Compare the active retriever, the first, with another one.

    Raises:
        ManifestMismatchError: If an index was made from another corpus.
        DataError: If no query has accepted and rejected premises of the corpus.
    """
    judged = JudgedQueries.of(corpus, judgements)
    if not judged:
        raise DataError(
            f"expected a sentence with accepted and rejected premises of {corpus.name!r}, found none; accept "
            "and reject some"
        )
    figures = []
    for index in indexes:
        require_same_corpus(corpus, index)
        values = judged_precision(judged, index, progress=progress)
        figures.append(
            QueryFigures(
                encoder=index.name,
                revision=index.manifest.revision,
                split=f"{judged.judged:,} judgements",
                queries=judged.texts,
                primary=MEASURE,
                values={MEASURE: (values, np.ones(len(judged)))},
            )
        )
    return compare_paired(*figures)
