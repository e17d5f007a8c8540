"""Figures of an encoder by query, and paired comparison of a candidate with the active encoder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from entail.errors import RetrievalError
from entail.evaluation.retrieval.premises import PremiseEvaluation
from entail.statistics.paired import PairedDifference, paired_difference
from entail.statistics.ranking import Values, query_values

FEW = 20
"""A comparison on fewer queries is not reliable."""

_MEASURES = ("MAP", "NDCG", "Hit@10", "Hit@50")

Verdict = Literal["better", "not different", "worse"]


@dataclass(frozen=True)
class QueryFigures:
    """Figures of an encoder on a split, by query.

    Attributes:
        queries: The queries, in the order of the values.
        primary: The measure that decides.
        values: Measure -> one value a query, and its weight; the figure is their weighted mean.
        rivals: Simple rule on the same queries -> its values of the primary measure.
    """

    encoder: str
    revision: str
    split: str
    queries: tuple[str, ...]
    primary: str
    values: Mapping[str, tuple[Values, Values]]
    rivals: Mapping[str, Values] = field(default_factory=dict)

    @classmethod
    def of_premises(cls, evaluation: PremiseEvaluation, *, split: str) -> QueryFigures:
        """Take MAP, NDCG, Hit@10 and Hit@50 of a premise retrieval, by both protocols.

        MAP without the query among the candidates decides: the author's view.
        """
        values: dict[str, tuple[Values, Values]] = {}
        for protocol in ("query_excluded", "paper"):
            title = protocol.replace("_", " ")
            measured = query_values(evaluation.ranks[protocol], ks=evaluation.ks)
            values |= {f"{name}, {title}": measured[name] for name in _MEASURES if name in measured}
        return cls(
            encoder=evaluation.retriever,
            revision=evaluation.manifest.revision,
            split=split,
            queries=evaluation.queries,
            primary="MAP, query excluded",
            values=values,
        )

    @classmethod
    def join(cls, parts: Sequence[QueryFigures]) -> QueryFigures:
        """Return the figures of several parts of a split as those of the first part's encoder."""
        values: dict[str, tuple[Values, Values]] = {}
        for name in parts[0].values:
            measured, weights = zip(*(part.values[name] for part in parts), strict=True)
            values[name] = np.concatenate(measured), np.concatenate(weights)
        queries = tuple(query for part in parts for query in part.queries)
        rivals = {name: np.concatenate([part.rivals[name] for part in parts]) for name in parts[0].rivals}
        return replace(parts[0], queries=queries, values=values, rivals=rivals)

    def without(self, queries: Collection[str]) -> QueryFigures:
        """Return the figures on the other queries."""
        rest = [index for index, query in enumerate(self.queries) if query not in queries]
        values = {name: (value[rest], weight[rest]) for name, (value, weight) in self.values.items()}
        queries = tuple(self.queries[index] for index in rest)
        rivals = {name: value[rest] for name, value in self.rivals.items()}
        return replace(self, queries=queries, values=values, rivals=rivals)

    def figures(self) -> dict[str, float]:
        """Return measure -> figure."""
        return {name: float(np.average(term[0], weights=term[1])) for name, term in self.values.items()}


@dataclass(frozen=True)
class PairedComparison:
    """Figures of the active encoder and of a candidate, given by revision, on the same queries.

    Attributes:
        digest: Digest of the queries.
        primary: The measure that decides.
        measures: Measure -> both figures, the difference and its interval (bootstrap over queries, 95 %).
        seen: Number of queries that one of the two was trained on.
        rivals: Simple rule -> its figure of the primary measure on the same queries.
    """

    candidate: str
    active: str
    split: str
    digest: str
    primary: str
    measures: Mapping[str, PairedDifference]
    seen: int = 0
    rivals: Mapping[str, float] = field(default_factory=dict)

    @property
    def queries(self) -> int:
        """Number of queries."""
        return self.measures[self.primary].queries

    @property
    def verdict(self) -> Verdict:
        """Position of the primary measure's interval: above 0, below it, or around it."""
        decisive = self.measures[self.primary]
        return "better" if decisive.low > 0 else "worse" if decisive.high < 0 else "not different"

    def __str__(self) -> str:
        figures = self.measures[self.primary]
        return (
            f"{self.primary}: {figures.second:.3f} against {figures.first:.3f} of the active model, "
            f"{figures.difference:+.3f} [{figures.low:+.3f}, {figures.high:+.3f}] over {self.queries:,} "
            f"cases of {self.split}: {self.verdict}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> PairedComparison:
        """Return the comparison of a dict of `to_json`."""
        measures = {name: PairedDifference(**figures) for name, figures in values["measures"].items()}
        return cls(**{**values, "measures": measures})


def compare_paired(active: QueryFigures, candidate: QueryFigures) -> PairedComparison:
    """Compare a candidate with the active encoder on the same queries by the same measures."""
    if active.queries != candidate.queries or set(active.values) != set(candidate.values):
        raise RetrievalError(
            f"expected two evaluations of the same queries, found {len(active.queries)} of {active.split} "
            f"with {active.encoder} and {len(candidate.queries)} of {candidate.split} with "
            f"{candidate.encoder}; measure both on the same split"
        )
    return PairedComparison(
        candidate=candidate.revision,
        active=active.revision,
        split=candidate.split,
        digest=hashlib.sha256(json.dumps(candidate.queries).encode()).hexdigest()[:12],
        primary=candidate.primary,
        measures={
            name: paired_difference(active.values[name][0], values, weights=weights)
            for name, (values, weights) in candidate.values.items()
        },
        rivals={
            name: float(np.average(values, weights=candidate.values[candidate.primary][1]))
            for name, values in candidate.rivals.items()
        },
    )
