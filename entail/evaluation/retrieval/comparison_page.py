"""Comparison of two retrievers on one claim as a self-contained HTML page without scripts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.data.stored import parse_as
from entail.evaluation.retrieval.comparison import Comparison

if TYPE_CHECKING:
    import jinja2


@dataclass(frozen=True, slots=True)
class SharedPremise:
    """Premise of a kept comparison: text, ranks from 1, gold and decision as `ComparedPremise` has them."""

    text: str
    ranks: tuple[int, int]
    gold: bool | None = None
    decision: bool | None = None


@dataclass(frozen=True, slots=True)
class SharedComparison:
    """Comparison as it was when it was shared.

    Attributes:
        query: The claim.
        names: Display names of the two retrievers.
        k: Depth of the comparison.
        corpus: Name of the corpus.
        version: Version of the corpus.
        count: Number of its premises.
        premises: First k premises of either retriever.
    """

    query: str
    names: tuple[str, str]
    k: int
    corpus: str
    version: int
    count: int
    premises: tuple[SharedPremise, ...]

    def side(self, which: int) -> list[SharedPremise]:
        """Return the first k of one retriever (0 or 1), best first."""
        premises = [premise for premise in self.premises if premise.ranks[which] <= self.k]
        return sorted(premises, key=lambda premise: premise.ranks[which])


def keep(
    comparison: Comparison, *, names: tuple[str, str], corpus: str, version: int, count: int
) -> SharedComparison:
    """Return a comparison with the names that a reader needs."""
    premises = (SharedPremise(row.premise.text, row.ranks, row.gold, row.decision) for row in comparison.rows)
    return SharedComparison(comparison.query, names, comparison.k, corpus, version, count, tuple(premises))


def to_json(comparison: SharedComparison) -> dict[str, Any]:
    """Return a JSON-serialisable dict."""
    return asdict(comparison)


def from_json(text: str) -> SharedComparison:
    """Return a kept comparison.

    Raises:
        ValueError: If the text is something else.
    """
    return parse_as(SharedComparison, text)


def to_page(comparison: SharedComparison, *, at: datetime) -> str:
    """Return the HTML page of a comparison made at a time; texts are text whatever they hold."""
    has_gold = any(premise.gold is not None for premise in comparison.premises)
    sides = [
        {
            "name": comparison.names[which],
            "premises": [
                {
                    "premise": premise,
                    "rank": premise.ranks[which],
                    "other": premise.ranks[1 - which],
                    "moved": premise.ranks[1 - which] - premise.ranks[which],
                }
                for premise in side
            ],
            "found": sum(bool(premise.gold) for premise in side) if has_gold else None,
        }
        for which, side in enumerate((comparison.side(0), comparison.side(1)))
    ]
    shared = sum(max(premise.ranks) <= comparison.k for premise in comparison.premises)
    return _template().render(comparison=comparison, sides=sides, shared=shared, at=at)


@cache
def _template() -> jinja2.Template:
    from jinja2 import Environment

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(Path(__file__).with_name("comparison.html").read_text(encoding="utf-8"))
