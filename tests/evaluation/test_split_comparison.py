"""Two retrievers over several queries, with ranks known by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus, ExplanationTree
from entail.evaluation.retrieval.effort import measure_effort
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.evaluation.retrieval.split_comparison import (
    QueryChange,
    SplitComparison,
    compare_split,
    most_changed,
)


@pytest.fixture
def indexes(facts: Corpus, listed_index: Any) -> tuple[Any, Any]:
    """`h` wants a and mid, `mid` wants b and c; f0 ... fill the rest."""
    first = listed_index(facts, {"h": ["f0", "f1", "a", "f2", "mid"], "mid": ["b", "c"]})
    second = listed_index(facts, {"h": ["a", "mid"], "mid": ["f0", "b", "f1", "c"]})
    return first, second


@pytest.fixture
def split(facts: Corpus, solar: ExplanationTree, indexes: tuple[Any, Any]) -> SplitComparison:
    return compare_split(facts, [solar], indexes, ks=(1, 5))


def test_ranks_and_average_precision_by_hand(split: SplitComparison) -> None:
    by_query = {change.query: change for change in split.changes["query_excluded"]}
    assert by_query["h"].ranks == ((3.0, 5.0), (1.0, 2.0))
    assert by_query["h"].ap == (pytest.approx((1 / 3 + 2 / 5) / 2), 1.0)
    assert by_query["mid"].ap == (1.0, pytest.approx((1 / 2 + 2 / 4) / 2))
    assert by_query["h"].difference == pytest.approx(1 - (1 / 3 + 2 / 5) / 2)
    assert by_query["h"].found == (2, 2)
    assert split.premises(by_query["mid"].index) == ("b", "c")


def test_figures_are_those_of_each_evaluation(
    split: SplitComparison, facts: Corpus, solar: ExplanationTree, indexes: tuple[Any, Any]
) -> None:
    for which, index in enumerate(indexes):
        alone = evaluate_premises(facts, [solar], index, ks=(1, 5)).figures()
        for protocol in ("query_excluded", "paper"):
            for measure, value in alone[protocol].items():
                paired = split.figures[protocol][measure].paired
                assert (paired.first, paired.second)[which] == pytest.approx(value)
        assert split.efforts[which] == measure_effort(facts, [solar], index)


def test_of_a_large_corpus_a_premise_beyond_the_list_is_never_found(
    facts: Corpus, solar: ExplanationTree, indexes: tuple[Any, Any], list_first: Callable[[int], None]
) -> None:
    list_first(4)
    split = compare_split(facts, [solar], indexes, ks=(1, 5))
    by_query = {change.query: change for change in split.changes["query_excluded"]}
    assert by_query["h"].ranks == ((3.0, np.inf), (1.0, 2.0))
    assert by_query["mid"].ranks == ((1.0, 2.0), (2.0, 4.0))
    assert split.efforts[0].missing == 1
    assert split.efforts[0].reads == 4 + 2
    assert split.evaluations[0].to_json()["listed"] == 4


def change(
    place: int, ap: tuple[float, float], ranks: tuple[tuple[float, ...], tuple[float, ...]]
) -> QueryChange:
    return QueryChange(place, f"q{place}", ap, (0, 0), len(ranks[0]), ranks)


def test_the_most_changed_come_first_and_ties_go_by_the_order_of_the_trees() -> None:
    changes = [
        change(0, (0.5, 0.6), ((2.0,), (2.0,))),
        change(1, (0.1, 0.9), ((9.0,), (1.0,))),
        change(2, (0.5, 0.6), ((9.0,), (2.0,))),
        change(3, (0.9, 0.1), ((1.0,), (9.0,))),
        change(4, (0.5, 0.5), ((2.0,), (2.0,))),
        change(5, (0.5, 0.6), ((2.0,), (2.0,))),
    ]
    assert [c.index for c in most_changed(changes, gained=True)] == [1, 0, 2, 5]
    assert [c.index for c in most_changed(changes, gained=False)] == [3]
