"""Comparison of two retrievers on one query, in memory and as a self-contained HTML page without scripts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from entail.data.records import Corpus, Premise
from entail.data.stored import parse_as
from entail.data.text import fold
from entail.errors import RetrievalError
from entail.evaluation.retrieval.premises import require_same_corpus
from entail.index.protocol import Floats, PremiseIndex
from entail.index.ranking import ALL_SCORED, LISTED, scores_of


@dataclass(frozen=True, slots=True)
class ComparedPremise:
    """Ranks (over the whole corpus, from 1) and similarities of a premise with two retrievers.

    Attributes:
        gold: Whether it is known to explain the query; None if unknown.
        decision: Whether authors accepted it as a premise of the query; None if it was not judged, or they
            disagree.
    """

    premise: Premise
    ranks: tuple[int, int]
    scores: tuple[float, float]
    gold: bool | None
    decision: bool | None = None

    @property
    def change(self) -> int:
        """Ranks gained with the second retriever; negative for ranks lost."""
        return self.ranks[0] - self.ranks[1]

    @property
    def weight(self) -> float:
        """Weight of the change for a reader, see `rank_weight`."""
        return rank_weight(*self.ranks)


@dataclass(frozen=True)
class Comparison:
    """Comparison of two retrievers for one query: the first k premises of either, by best rank.

    Attributes:
        listed: Depth of the rankings of a large corpus: a premise beyond it has the rank `listed + 1` and no
            score; None where all are ranked.
    """

    query: str
    names: tuple[str, str]
    k: int
    rows: tuple[ComparedPremise, ...]
    listed: int | None = None

    def side(self, which: int) -> tuple[ComparedPremise, ...]:
        """Return the first k of one retriever (0 or 1), best first."""
        return tuple(sorted((r for r in self.rows if r.ranks[which] <= self.k), key=lambda r: r.ranks[which]))

    @property
    def by_difference(self) -> tuple[ComparedPremise, ...]:
        """Rows by decreasing difference of the two; ties by the better rank."""
        return tuple(sorted(self.rows, key=lambda row: (-row.weight, min(row.ranks), row.ranks)))

    @property
    def shared(self) -> int:
        """Number of premises that both have in their first k."""
        return sum(max(row.ranks) <= self.k for row in self.rows)

    def count_gold(self, which: int) -> int:
        """Return the number of known gold premises that one retriever has in its first k."""
        return sum(bool(row.gold) for row in self.side(which))


def rank_weight(first: float, second: float) -> float:
    """Return how much a change of rank matters, |1 / log2(1 + r) - 1 / log2(1 + r')|, 0 to 1.

    It is the change of the gain of NDCG: from rank 31 to 2 is much, from 1031 to 1002 nothing.

    >>> round(rank_weight(31, 2), 2), round(rank_weight(1031, 1002), 2), rank_weight(math.inf, 1)
    (0.43, 0.0, 1.0)
    """
    return abs(1 / math.log2(1 + first) - 1 / math.log2(1 + second))


def compare(
    query: str,
    corpus: Corpus,
    indexes: tuple[PremiseIndex, PremiseIndex],
    *,
    k: int = 20,
    gold: Collection[str] = (),
    decisions: Mapping[str, bool] | None = None,
) -> Comparison:
    """Compare two retrievers over one corpus on one query; the query's own text is left out of both rankings.

    Equal scores are ranked by position.

    Args:
        query: The text to search with.
        corpus: Corpus of both indexes.
        indexes: The two retrievers.
        k: Depth of the comparison, at most the size of the corpus, or `LISTED` - 1 in a large one.
        gold: Folded texts of premises known to explain the query; empty if unknown.
        decisions: Folded text -> whether authors accepted it as a premise of the query.

    Raises:
        RetrievalError: If the query is empty, k is below 1, or an index holds another corpus.
    """
    if not fold(query):
        raise RetrievalError("the query is empty: type a sentence to compare the retrievers on")
    if k < 1:
        raise RetrievalError(f"k must be 1 or more, found {k}")
    for index in indexes:
        require_same_corpus(corpus, index)
    own = corpus.position(query)
    scores = [scores_of(index, [query])[0] for index in indexes]
    listed = LISTED - 1 if len(corpus) > ALL_SCORED else None  # the query itself may be among them
    first, second = (np.minimum(_ranks(column, own), (listed or len(corpus)) + 1) for column in scores)
    depth = min(k, listed or len(corpus) - (own is not None))
    positions = [int(i) for i in np.flatnonzero(np.minimum(first, second) <= depth) if i != own]
    rows = tuple(
        ComparedPremise(
            premise=corpus.premises[i],
            ranks=(int(first[i]), int(second[i])),
            scores=(float(scores[0][i]), float(scores[1][i])),
            gold=corpus.premises[i].folded in gold if gold else None,
            decision=(decisions or {}).get(corpus.premises[i].folded),
        )
        for i in sorted(positions, key=lambda i: (min(first[i], second[i]), first[i]))
    )
    return Comparison(query, (indexes[0].name, indexes[1].name), depth, rows, listed)


def _ranks(scores: Floats, own: int | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the rank of every premise, 1 for the best; the query's own text ranks behind all."""
    keyed = scores.astype(np.float64)
    if own is not None:
        keyed[own] = -np.inf
    ranks = np.empty(len(keyed), dtype=np.int64)
    ranks[np.argsort(-keyed, kind="stable")] = np.arange(1, len(keyed) + 1)
    return ranks


def comparison_rows(comparison: Comparison) -> Iterator[tuple[object, ...]]:
    """Yield a header, then every compared premise."""
    first, second = comparison.names
    yield (
        *("premise", "gold", "decision", f"rank {first}", f"rank {second}"),
        *(f"score {first}", f"score {second}", "change"),
    )
    for row in comparison.rows:
        decision = "" if row.decision is None else ("accepted" if row.decision else "rejected")
        gold = "" if row.gold is None else int(row.gold)
        scores = (round(score, 6) for score in row.scores)
        ranks = (f"> {comparison.listed}" if rank - 1 == comparison.listed else rank for rank in row.ranks)
        yield row.premise.text, gold, decision, *ranks, *scores, row.change


@dataclass(frozen=True, slots=True)
class SharedPremise:
    """Premise of a kept comparison: text, ranks from 1, gold and decision as `ComparedPremise` has them."""

    text: str
    ranks: tuple[int, int]
    gold: bool | None = None
    decision: bool | None = None


@dataclass(frozen=True, slots=True)
class SharedComparison:
    """Comparison as it was when it was shared: names for readers, the corpus and its number of premises."""

    query: str
    names: tuple[str, str]
    k: int
    corpus: str
    version: int
    count: int
    premises: tuple[SharedPremise, ...]


def keep(
    comparison: Comparison, *, names: tuple[str, str], corpus: str, version: int, count: int
) -> dict[str, Any]:
    """Return a comparison with the names that a reader needs, as a JSON-serialisable dict."""
    premises = (SharedPremise(row.premise.text, row.ranks, row.gold, row.decision) for row in comparison.rows)
    record = SharedComparison(comparison.query, names, comparison.k, corpus, version, count, tuple(premises))
    return asdict(record)


def from_json(text: str) -> SharedComparison:
    """Return a kept comparison.

    Raises:
        ValueError: If the text is something else.
    """
    return parse_as(SharedComparison, text)


def to_page(comparison: SharedComparison, *, at: datetime) -> str:
    """Return the HTML page of a comparison made at a time; texts are text whatever they hold."""
    from jinja2 import Environment

    has_gold = any(premise.gold is not None for premise in comparison.premises)
    sides = []
    for which, name in enumerate(comparison.names):
        premises = [premise for premise in comparison.premises if premise.ranks[which] <= comparison.k]
        rows = [
            {"premise": premise, "rank": premise.ranks[which], "other": premise.ranks[1 - which]}
            for premise in sorted(premises, key=lambda premise: premise.ranks[which])
        ]
        hits = sum(bool(premise.gold) for premise in premises) if has_gold else None
        sides.append({"name": name, "premises": rows, "found": hits})
    shared = sum(max(premise.ranks) <= comparison.k for premise in comparison.premises)
    template = Path(__file__).with_name("comparison.html").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    page = environment.from_string(template)
    return page.render(comparison=comparison, sides=sides, shared=shared, at=at)
