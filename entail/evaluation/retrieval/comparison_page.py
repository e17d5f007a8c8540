"""Comparison of two retrievers on one claim as a self-contained HTML page without scripts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from entail.data.stored import parse_as
from entail.evaluation.retrieval.comparison import Comparison


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
    kept = SharedComparison(comparison.query, names, comparison.k, corpus, version, count, tuple(premises))
    return asdict(kept)


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
        found = sum(bool(premise.gold) for premise in premises) if has_gold else None
        sides.append({"name": name, "premises": rows, "found": found})
    shared = sum(max(premise.ranks) <= comparison.k for premise in comparison.premises)
    template = Path(__file__).with_name("comparison.html").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    page = environment.from_string(template)
    return page.render(comparison=comparison, sides=sides, shared=shared, at=at)
