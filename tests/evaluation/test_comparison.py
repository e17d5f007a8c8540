"""Two retrievers on one query and on several, over corpora small enough to rank by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.errors import ManifestMismatchError, RetrievalError
from entail.evaluation.retrieval.comparison import compare, comparison_rows
from entail.evaluation.retrieval.effort import measure_effort
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.evaluation.retrieval.split_comparison import (
    QueryChange,
    SplitComparison,
    compare_split,
    most_changed,
)
from tests.evaluation.conftest import FACTS, SOLAR, ListedIndex

CORPUS = Corpus.of(
    "five", ["ice is cold", "fire is hot", "snow is ice", "the sun is a star", "salt is a solid"]
)
QUERIES = ("snow is cold", "ice  is cold", "ice")
LEFT, RIGHT = (
    ListedIndex(CORPUS, dict.fromkeys(QUERIES, tuple(CORPUS.texts[at] for at in order)), name=name)
    for name, order in (("left", (0, 2, 1, 4, 3)), ("right", (2, 1, 3, 0, 4)))
)


def test_ranks_changes_and_overlap_by_hand() -> None:
    gold, decisions = {"snow is ice", "ice is cold"}, {"ice is cold": False, "fire is hot": True}
    comparison = compare("snow is cold", CORPUS, (LEFT, RIGHT), k=2, gold=gold, decisions=decisions)
    assert [row.premise.text for row in comparison.side(0)] == ["ice is cold", "snow is ice"]
    assert [row.premise.text for row in comparison.side(1)] == ["snow is ice", "fire is hot"]
    assert {row.premise.text: (row.ranks, row.gold, row.decision) for row in comparison.rows} == {
        "ice is cold": ((1, 4), True, False),
        "snow is ice": ((2, 1), True, None),
        "fire is hot": ((3, 2), False, True),
    }
    assert {row.premise.text: row.change for row in comparison.rows}["ice is cold"] == -3
    assert comparison.shared == 1
    assert (comparison.count_gold(0), comparison.count_gold(1)) == (2, 1)


def test_where_the_two_differ_most_comes_first_and_the_query_itself_is_left_out_of_both() -> None:
    comparison = compare("snow is cold", CORPUS, (LEFT, RIGHT), k=5)
    assert next(row.premise.text for row in comparison.by_difference) == "ice is cold"  # 1 -> 4
    weights = [row.weight for row in comparison.by_difference]
    assert weights == sorted(weights, reverse=True)
    comparison = compare("ice  is cold", CORPUS, (LEFT, RIGHT), k=5)
    assert "ice is cold" not in {row.premise.text for row in comparison.rows}
    assert comparison.k == 4
    assert comparison.side(0)[0].ranks[0] == 1


def test_bad_requests_are_refused() -> None:
    for query, k in (("  ", 3), ("ice", 0)):
        with pytest.raises(RetrievalError):
            compare(query, CORPUS, (LEFT, RIGHT), k=k)
    with pytest.raises(ManifestMismatchError):
        compare("ice", Corpus.of("other", ["ice"]), (LEFT, RIGHT), k=3)


def test_of_a_large_corpus_the_first_of_both_lists_are_compared(list_first: Callable[[int], None]) -> None:
    list_first(4)
    comparison = compare("snow is cold", CORPUS, (LEFT, RIGHT), k=9)
    assert (comparison.k, comparison.listed) == (3, 3)
    ranks = {row.premise.text: row.ranks for row in comparison.rows}
    assert ranks == dict(zip(CORPUS.texts[:4], [(1, 4), (3, 2), (2, 1), (4, 3)], strict=True))
    cells = {row[0]: row[3:5] for row in comparison_rows(comparison)}
    assert cells["the sun is a star"] == ("> 3", 3)
    own = compare("ice  is cold", CORPUS, (LEFT, RIGHT), k=2)
    assert "ice is cold" not in {row.premise.text for row in own.rows}
    assert own.side(0)[0].ranks == (1, 1)


# `h` wants a and mid, `mid` wants b and c; f0 ... fill the rest.
INDEXES = (
    ListedIndex(FACTS, {"h": ["f0", "f1", "a", "f2", "mid"], "mid": ["b", "c"]}),
    ListedIndex(FACTS, {"h": ["a", "mid"], "mid": ["f0", "b", "f1", "c"]}),
)


def by_query(split: SplitComparison) -> dict[str, QueryChange]:
    return {change.query: change for change in split.changes["query_excluded"]}


def test_ranks_figures_and_effort_by_hand_and_as_of_each_evaluation() -> None:
    split = compare_split(FACTS, [SOLAR], INDEXES, ks=(1, 5))
    h, mid = (by_query(split)[name] for name in ("h", "mid"))
    assert h.ranks == ((3.0, 5.0), (1.0, 2.0))
    assert h.ap == (pytest.approx((1 / 3 + 2 / 5) / 2), 1.0)
    assert mid.ap == (1.0, pytest.approx((1 / 2 + 2 / 4) / 2))
    assert h.difference == pytest.approx(1 - (1 / 3 + 2 / 5) / 2)
    assert h.found == (2, 2)
    assert split.premises(mid.index) == ("b", "c")
    for which, index in enumerate(INDEXES):
        alone = evaluate_premises(FACTS, [SOLAR], index, ks=(1, 5)).figures()
        for protocol in ("query_excluded", "paper"):
            for measure, value in alone[protocol].items():
                paired = split.figures[protocol][measure].paired
                assert (paired.first, paired.second)[which] == pytest.approx(value)
        assert split.efforts[which] == measure_effort(FACTS, [SOLAR], index)


def test_a_premise_beyond_the_list_of_a_large_corpus_is_not_found(list_first: Callable[[int], None]) -> None:
    list_first(4)
    split = compare_split(FACTS, [SOLAR], INDEXES, ks=(1, 5))
    assert by_query(split)["h"].ranks == ((3.0, np.inf), (1.0, 2.0))
    assert by_query(split)["mid"].ranks == ((1.0, 2.0), (2.0, 4.0))
    assert (split.efforts[0].missing, split.efforts[0].reads) == (1, 4 + 2)
    assert split.evaluations[0].to_json()["listed"] == 4


def test_the_most_changed_come_first_and_ties_go_by_the_order_of_the_trees() -> None:
    values: list[Any] = [
        ((0.5, 0.6), ((2.0,), (2.0,))),
        ((0.1, 0.9), ((9.0,), (1.0,))),
        ((0.5, 0.6), ((9.0,), (2.0,))),
        ((0.9, 0.1), ((1.0,), (9.0,))),
        ((0.5, 0.5), ((2.0,), (2.0,))),
        ((0.5, 0.6), ((2.0,), (2.0,))),
    ]
    changes = [QueryChange(at, f"q{at}", ap, (0, 0), 1, ranks) for at, (ap, ranks) in enumerate(values)]
    assert [c.index for c in most_changed(changes, gained=True)] == [1, 0, 2, 5]
    assert [c.index for c in most_changed(changes, gained=False)] == [3]
