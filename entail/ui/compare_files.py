"""What a comparison gives to take along: CSV of ranks, queries and pairs, JSON of figures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

from entail.evaluation.comparison import Comparison
from entail.evaluation.split_comparison import PROTOCOLS, SplitComparison
from entail.evaluation.tour import Stop, headline, tell
from entail.trees.formats.escaping import cell

CSV, JSON = "text/csv", "application/json"


def offer(label: str, content: Any, *, name: str, kind: str) -> None:  # noqa: ANN401 - as Streamlit takes it
    """Draw a button that saves a file; a function as content is called when it is pressed."""
    st.download_button(
        label, content, file_name=name, mime=kind, icon=":material/download:", on_click="ignore", key=name
    )


def comparison_csv(comparison: Comparison) -> str:
    """Return every compared premise: text, gold, decision, rank and score with each retriever, the change.

    Texts stand as `cell` guards them.
    """
    first, second = comparison.names
    ranks = [f"rank {first}", f"rank {second}", f"score {first}", f"score {second}", "change"]
    return _csv(
        ["premise", "gold", "decision", *ranks],
        (
            [
                cell(row.premise.text),
                "" if row.gold is None else int(row.gold),
                "" if row.decision is None else ("accepted" if row.decision else "rejected"),
                *row.ranks,
                *(f"{score:.6f}" for score in row.scores),
                row.change,
            ]
            for row in comparison.rows
        ),
    )


def comparison_json(comparison: Comparison) -> str:
    """Return the figures of one query, and every compared premise with its ranks."""
    return _json(
        {
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
    )


def queries_csv(split: SplitComparison) -> str:
    """Return every query by both protocols: average precision with each, its difference, gold ranks of each.

    A gold premise that is no candidate has the rank `inf`.
    """
    first, second = split.names
    columns = [f"{what} {name}" for what in ("AP", "found", "ranks") for name in (first, second)]
    return _csv(
        ["protocol", "query", "premises", *columns, "difference in AP"],
        (
            [
                protocol,
                cell(change.query),
                change.premises,
                *(f"{ap:.6f}" for ap in change.ap),
                *change.found,
                *(" ".join(f"{rank:g}" for rank in side) for side in change.ranks),
                f"{change.difference:.6f}",
            ]
            for protocol in PROTOCOLS
            for change in split.changes[protocol]
        ),
    )


def split_json(split: SplitComparison) -> str:
    """Return every figure with its intervals, and the author's effort."""
    return _json(split.to_json())


def tour_csv(stops: Sequence[Stop], names: tuple[str, str]) -> str:
    """Return the examples of a tour in its order, each with its sentence; texts stand as `cell` guards them.

    Args:
        stops: The examples.
        names: What a reader calls the two retrievers.
    """
    columns = [f"{what} {name}" for what in ("place", "AP") for name in names]
    return _csv(
        ["example", "claim", "told", "premise", *columns, "better", "before it", "alike", "first alike"],
        (
            [
                number,
                *map(cell, (stop.change.query, tell(stop, names), stop.premise)),
                *stop.ranks,
                *(f"{ap:.6f}" for ap in stop.change.ap),
                cell(names[stop.better]),
                stop.before,
                stop.alike,
                cell(stop.first_alike or ""),
            ]
            for number, stop in enumerate(stops, start=1)
        ),
    )


def tour_json(split: SplitComparison, stops: Sequence[Stop], names: tuple[str, str]) -> str:
    """Return a tour: its examples with their sentences, and what the whole comparison comes to."""
    return _json(
        {
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
    )


def rows_csv(rows: Iterable[dict[str, Any]]) -> str:
    """Return rows of equal fields, texts guarded by `cell`."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return ""

    def guarded(row: dict[str, Any]) -> list[Any]:
        return [cell(value) if isinstance(value, str) else value for value in row.values()]

    return _csv(list(first), (guarded(row) for row in (first, *rows)))


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([cell(name) for name in header])
    writer.writerows(rows)
    return out.getvalue()


def _json(value: Any) -> str:  # noqa: ANN401 - JSON is of any type
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
