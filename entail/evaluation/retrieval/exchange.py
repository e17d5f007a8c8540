"""Comparisons of two retrievers as rows of a table and as JSON-serialisable dicts.

A table is an iterable of rows, of which the first is the header.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from entail.evaluation.retrieval.comparison import Comparison
from entail.evaluation.retrieval.split_comparison import PROTOCOLS, SplitComparison
from entail.evaluation.retrieval.tour import Stop, headline, tell


def comparison_rows(comparison: Comparison) -> Iterator[tuple[object, ...]]:
    """Yield every compared premise: text, gold, decision, rank and score with each retriever, the change."""
    first, second = comparison.names
    yield (
        *("premise", "gold", "decision", f"rank {first}", f"rank {second}"),
        *(f"score {first}", f"score {second}", "change"),
    )
    for row in comparison.rows:
        decision = "" if row.decision is None else ("accepted" if row.decision else "rejected")
        gold = "" if row.gold is None else int(row.gold)
        scores = (f"{score:.6f}" for score in row.scores)
        yield row.premise.text, gold, decision, *row.ranks, *scores, row.change


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return the figures of one query, and every compared premise with its ranks."""
    return {
        "query": comparison.query,
        "retrievers": list(comparison.names),
        "k": comparison.k,
        "shared": comparison.shared,
        "found": [comparison.found(0), comparison.found(1)],
        "premises": [
            {
                "text": row.premise.text,
                "ranks": list(row.ranks),
                "scores": list(row.scores),
                "gold": row.gold,
                "decision": row.decision,
            }
            for row in comparison.rows
        ],
    }


def query_rows(split: SplitComparison) -> Iterator[tuple[object, ...]]:
    """Yield every query by both protocols: average precision, gold premises found, their ranks.

    A gold premise that is no candidate has the rank `inf`.
    """
    columns = [f"{measure} {name}" for measure in ("AP", "found", "ranks") for name in split.names]
    yield "protocol", "query", "premises", *columns, "difference in AP"
    for protocol in PROTOCOLS:
        for change in split.changes[protocol]:
            yield (
                protocol,
                change.query,
                change.premises,
                *(f"{ap:.6f}" for ap in change.ap),
                *change.found,
                *(" ".join(f"{rank:g}" for rank in side) for side in change.ranks),
                f"{change.difference:.6f}",
            )


def tour_rows(stops: Sequence[Stop], names: tuple[str, str]) -> Iterator[tuple[object, ...]]:
    """Yield the examples of a tour in its order, each with its sentence.

    Args:
        stops: The examples.
        names: Display names of the two retrievers.
    """
    columns = [f"{measure} {name}" for measure in ("place", "AP") for name in names]
    yield "example", "claim", "told", "premise", *columns, "better", "before it", "alike", "first alike"
    for number, stop in enumerate(stops, start=1):
        yield (
            *(number, stop.change.query, tell(stop, names), stop.premise, *stop.ranks),
            *(f"{ap:.6f}" for ap in stop.change.ap),
            *(names[stop.better], stop.before, stop.alike, stop.first_alike or ""),
        )


def tour_json(split: SplitComparison, stops: Sequence[Stop], names: tuple[str, str]) -> dict[str, Any]:
    """Return a tour: its examples with their sentences, and the summary of the comparison."""
    return {
        "retrievers": list(names),
        "examples": [
            {
                "claim": stop.change.query,
                "told": tell(stop, names),
                "premise": stop.premise,
                "places": list(stop.ranks),
                "average_precision": list(stop.change.ap),
                "better": names[stop.better],
                "before": stop.before,
                "alike": stop.alike,
                "first_alike": stop.first_alike,
            }
            for stop in stops
        ],
        "comes_to": list(headline(split, names)),
    }
