"""Tour of the largest differences of two retrievers: a few examples with a sentence each.

Examples are chosen by rule: the queries whose average precision changed most, gains before losses, and of
each the gold premise whose rank changed most in that direction; each premise once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from entail.data.text import jaccard, tokens
from entail.errors import RetrievalError
from entail.evaluation.retrieval.comparison import rank_weight
from entail.evaluation.retrieval.split_comparison import (
    FOUND_AT,
    QueryChange,
    SplitComparison,
    most_changed,
)
from entail.index.protocol import PremiseIndex
from entail.statistics.ranking import NOT_THERE

STOPS = 7
"""Number of examples of a tour."""

LOSSES = 2
"""Number of examples with a loss, if there are as many."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Example of a tour.

    Attributes:
        change: The query, with its average precision and its gold premises' ranks.
        premise: The gold premise.
        ranks: Its rank with each retriever, the query's own text left out.
        better: Retriever that does better on this query, 0 or 1.
        before: Candidates, not gold, that the worse one ranks before the premise.
        lookalikes: Number of these that share more words with the query than the premise does.
        first_lookalike: The first of those, None without one.
    """

    change: QueryChange
    premise: str
    ranks: tuple[int, int]
    better: int
    before: int
    lookalikes: int
    first_lookalike: str | None


def choose_stops(
    split: SplitComparison,
    indexes: tuple[PremiseIndex, PremiseIndex],
    *,
    most: int = STOPS,
    losses: int = LOSSES,
) -> tuple[Stop, ...]:
    """Choose `most` examples, gains first, from the most changed down; `losses` of them are reserved."""
    for index, evaluation in zip(indexes, split.evaluations, strict=True):
        if index.manifest != evaluation.manifest:
            raise RetrievalError(
                f"expected the index that was compared, {evaluation.manifest.revision} over corpus "
                f"{evaluation.manifest.corpus_hash[:12]}, found {index.manifest.revision} over "
                f"{index.manifest.corpus_hash[:12]}; compare again"
            )
    changes = split.changes["query_excluded"]
    used: set[str] = set()
    gained, lost = (
        list(islice(_stops(split, indexes, most_changed(changes, gained=gained), used), most))
        for gained in (True, False)
    )
    gained = gained[: most - min(losses, len(lost))]
    return (*gained, *lost[: most - len(gained)])


def tell(stop: Stop, names: tuple[str, str]) -> str:
    """Return the sentence of an example; `names` are those that a reader calls the two retrievers."""
    good, bad = names[stop.better], names[1 - stop.better]
    rank, other = stop.ranks[stop.better], stop.ranks[1 - stop.better]
    sentence = f"{good} finds the premise “{stop.premise}” at rank {rank:,} instead of {other:,}."
    if stop.lookalikes:
        many = (
            "1 sentence that shares" if stop.lookalikes == 1 else f"{stop.lookalikes:,} sentences that share"
        )
        sentence = (
            f"{bad} puts {many} more words with the claim first, such as “{stop.first_lookalike}”. "
            + sentence
        )
    elif stop.before:
        many = "1 other sentence" if stop.before == 1 else f"{stop.before:,} other sentences"
        sentence = f"{bad} puts {many} first, none of which shares more words with the claim. " + sentence
    if stop.better == 0:
        sentence = f"Here {good} does better. " + sentence
    hits = stop.change.found
    if stop.change.premises > 1:
        sentence += (
            f" Of the {stop.change.premises} known premises {names[1]} has {hits[1]} among its first "
            f"{FOUND_AT}, {names[0]} {hits[0]}."
        )
    return sentence


def _stops(
    split: SplitComparison,
    indexes: tuple[PremiseIndex, PremiseIndex],
    changes: Iterable[QueryChange],
    used: set[str],
) -> Iterator[Stop]:
    for change in changes:
        stop = _stop(split, indexes, change)
        if stop.premise not in used:
            used.add(stop.premise)
            yield stop


def _stop(split: SplitComparison, indexes: tuple[PremiseIndex, PremiseIndex], change: QueryChange) -> Stop:
    children = split.gold.children[change.index].tolist()
    better = int(change.difference > 0)

    def moved(i: int) -> float:
        worse, good = change.ranks[1 - better][i], change.ranks[better][i]
        return rank_weight(worse, good) * (1 if good < worse else -1)

    at = max((i for i, child in enumerate(children) if child != NOT_THERE), key=lambda i: (moved(i), -i))
    target, texts = children[at], split.corpus.texts
    scores = indexes[1 - better].scores([change.query])[0]
    # What ranks before the target, best first; ties by position, as everywhere.
    ahead = np.argsort(-scores, kind="stable").tolist()
    excluded = {int(split.gold.own[change.index]), *children}
    distractors = [p for p in ahead[: ahead.index(target)] if p not in excluded]
    query = tokens(change.query)
    limit = jaccard(query, tokens(texts[target]))
    lookalikes = [p for p in distractors if jaccard(query, tokens(texts[p])) > limit]
    return Stop(
        change=change,
        premise=texts[target],
        ranks=(int(change.ranks[0][at]), int(change.ranks[1][at])),
        better=better,
        before=len(distractors),
        lookalikes=len(lookalikes),
        first_lookalike=texts[lookalikes[0]] if lookalikes else None,
    )
