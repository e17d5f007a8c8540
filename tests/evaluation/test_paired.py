"""A candidate and the active encoder, query by query."""

import json
from dataclasses import replace

import numpy as np
import pytest

from entail.errors import RetrievalError
from entail.evaluation.retrieval.paired import PairedComparison, QueryFigures, compare_paired


def measured(encoder: str, values: list[float], weights: tuple[float, ...] = (1, 1, 1, 1)) -> QueryFigures:
    figures = {"MAP": (np.array(values), np.ones(4)), "Hit": (np.array(values), np.array(weights))}
    return QueryFigures(encoder, f"{encoder}@1", "four queries", ("a", "b", "c", "d"), "MAP", figures)


LOW, HIGH = [0.1, 0.2, 0.1, 0.2], [0.5, 0.7, 0.5, 0.7]


@pytest.mark.parametrize(
    ("active", "candidate", "verdict"),
    [
        (LOW, HIGH, "better"),
        (HIGH, LOW, "worse"),
        (LOW, LOW, "not different"),
        ([0, 1, 0, 1], [1, 0, 1, 0], "not different"),
    ],
)
def test_the_interval_decides(active: list[float], candidate: list[float], verdict: str) -> None:
    comparison = compare_paired(measured("old", active), measured("new", candidate))
    assert comparison.verdict == verdict
    decisive = comparison.measures["MAP"]
    assert (decisive.first, decisive.second) == pytest.approx((np.mean(active), np.mean(candidate)))
    assert decisive.low <= decisive.difference <= decisive.high
    assert (comparison.candidate, comparison.active, comparison.queries) == ("new@1", "old@1", 4)
    assert PairedComparison.from_json(json.loads(json.dumps(comparison.to_json()))) == comparison


def test_figures_are_weighted_means_and_only_the_same_queries_and_measures_are_compared() -> None:
    assert measured("x", [1, 0, 0, 0], (3, 1, 0, 0)).figures() == {"MAP": 0.25, "Hit": 0.75}
    old, new = measured("old", LOW), measured("new", HIGH)
    other = replace(new, queries=("a", "b", "c", "e"))
    for unlike in (other, replace(new, values={"MAP": new.values["MAP"]})):
        with pytest.raises(RetrievalError):
            compare_paired(old, unlike)
    assert compare_paired(old, new).digest != compare_paired(other, other).digest
