"""Lists of a retriever that a re-ranker learns to order, and is evaluated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entail.aeenc.pairs import TrainingPairs, sort_positions
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.index.protocol import Floats, Ints, PremiseIndex


@dataclass(frozen=True)
class QueryList:
    """Training example: premises that explain a query, and nearest premises that do not.

    Attributes:
        query: Folded text.
        positives: Positions in the corpus.
        negatives: Positions in the corpus.
    """

    query: str
    positives: Ints
    negatives: Ints


@dataclass(frozen=True)
class RankedList:
    """Evaluation example: the first premises of a query by a retriever, the query's own text left out.

    Attributes:
        query: Folded text.
        positions: Positions in the corpus, best first.
        scores: Scores of the retriever, of the same length.
        gold: Whether each explains the query.
        count: Number of premises that explain it, in the list or not.
    """

    query: str
    positions: Ints
    scores: Floats
    gold: np.ndarray[tuple[int], np.dtype[np.bool_]]
    count: int

    def average_precision(self, scores: Floats) -> float:
        """Return the average precision of the list in another order; what it lacks counts as never found."""
        hits = self.gold[np.argsort(-scores, kind="stable")]
        at = np.flatnonzero(hits)
        return float((np.arange(1, len(at) + 1) / (at + 1)).sum() / self.count)


def query_lists(
    corpus: Corpus, pairs: TrainingPairs, index: PremiseIndex, *, nearest: int, closed: bool
) -> list[QueryList]:
    """Return the training examples of some pairs; queries without negatives are left out.

    Args:
        corpus: Corpus of pairs and index.
        pairs: Premises that explain, and premises that do not.
        index: Retriever.
        nearest: Premises of a list.
        closed: Whether every other premise of a list does not explain the query, as with gold trees. Else
            the negatives are those of the pairs.
    """
    if not closed:
        every = zip(pairs.queries, pairs.positives, pairs.negatives, strict=True)
        return [QueryList(*example) for example in every if len(example[2])]
    lists = []
    positions = index.search(list(pairs.queries), k=nearest).positions
    equals = [premise.folded.casefold() for premise in corpus.premises]
    for query, positives, near in zip(pairs.queries, pairs.positives, positions, strict=True):
        # What differs in capitals alone would be a positive and a negative at once.
        spared = {query.casefold(), *(equals[position] for position in positives)}
        negatives = sort_positions({position for position in near.tolist() if equals[position] not in spared})
        if len(negatives):
            lists.append(QueryList(query, positives, negatives))
    return lists


def ranked_lists(
    corpus: Corpus, trees: Sequence[ExplanationTree], index: PremiseIndex, *, depth: int
) -> list[RankedList]:
    """Return the first premises of every parent of some trees."""
    gold = gold_children(trees)
    hits = index.search(list(gold), k=depth + 1)
    lists = []
    for (query, children), positions, scores in zip(gold.items(), hits.positions, hits.scores, strict=True):
        own = corpus.position(query)
        indices = np.flatnonzero(positions != (-1 if own is None else own))[:depth]
        gold_positions = {corpus.position(child) for child in children} - {own}
        explains = np.array(
            [int(position) in gold_positions for position in positions[indices]], dtype=np.bool_
        )
        lists.append(RankedList(query, positions[indices], scores[indices], explains, len(children)))
    return lists
