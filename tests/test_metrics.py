from collections.abc import Callable

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, R, nDCG

from entail.errors import RetrievalError
from entail.statistics.ranking import (
    NOT_THERE,
    GoldRanks,
    average_precision,
    bootstrap_interval,
    hit_rate,
    ndcg,
    query_values,
    ranks_both_ways,
    ranks_of,
    recall,
    reciprocal_rank,
    summary,
)

INF = np.inf


def gold(*rows: list[float]) -> GoldRanks:
    return GoldRanks.of(rows)


# --- values by hand ----------------------------------------------------------------------------------------


def test_average_precision_by_hand() -> None:
    # 1/1 and 2/4 over two items; 1/2 over three, two of them never found
    assert average_precision(gold([4, 1], [2, INF, INF])) == pytest.approx([0.75, 0.5 / 3])


def test_ndcg_by_hand() -> None:
    # gains 1/log2(2) + 1/log2(4) = 1.5, ideal 1 + 1/log2(3)
    assert ndcg(gold([1, 3])) == pytest.approx([1.5 / (1 + 1 / np.log2(3))])
    assert ndcg(gold([1, 2, 9]), 2) == pytest.approx([1.0])  # the ideal is cut, too
    assert ndcg(gold([1, 2, 9]), 3)[0] < 1
    assert ndcg(gold([11]), 10) == pytest.approx([0.0])


def test_recall_is_a_mean_over_queries_and_hit_rate_over_pairs() -> None:
    uneven = gold([1, 2, 30, 40], [5])
    assert recall(uneven, 10) == pytest.approx([0.5, 1.0])
    assert hit_rate(uneven, 10) == pytest.approx(3 / 5)
    figures = summary(uneven, ks=[10])
    assert (figures["Recall@10"], figures["Hit@10"]) == pytest.approx((0.75, 0.6))
    assert recall(gold([10], [11]), 10) == pytest.approx([1.0, 0.0])  # a rank equal to the cut-off counts


def test_reciprocal_rank_takes_the_best_rank() -> None:
    assert reciprocal_rank(gold([9, 4], [INF])) == pytest.approx([0.25, 0.0])


def test_perfect_and_hopeless_rankings() -> None:
    assert set(summary(gold([1, 2, 3], [1]), ks=[10]).values()) == {1.0}
    assert set(summary(gold([INF, INF], [INF]), ks=[10]).values()) == {0.0}


def test_query_values_average_to_the_summary() -> None:
    uneven = gold([1, 2, 30, 40], [5], [INF, 3])
    weighted = {
        name: np.average(values, weights=weights)
        for name, (values, weights) in query_values(uneven, ks=[1, 10, 30]).items()
    }
    assert weighted == pytest.approx(summary(uneven, ks=[1, 10, 30]))
    assert list(weighted) == list(summary(uneven, ks=[1, 10, 30]))


# --- ranks from scores -------------------------------------------------------------------------------------


def test_ranks_by_hand() -> None:
    scores = np.array([[0.5, 0.9, 0.5, 0.5, 0.1]])  # ties go by position
    assert ranks_of(scores, [[0, 1, 2, 3, 4]]).ranks.tolist() == [
        2,
        1,
        3,
        4,
        5,
    ]
    # in the order of the relevant items
    ranks = ranks_of(np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]), [[0, 2], [1, NOT_THERE]])
    assert ranks.ranks.tolist() == [3, 1, 2, INF]
    assert ranks.ascending.tolist() == [1, 3, 2, INF]
    assert recall(ranks, 2) == pytest.approx([0.5, 0.5])  # a missing item counts


def test_the_excluded_candidate_leaves_the_ranking() -> None:
    scores = np.array([[0.9, 0.8, 0.8, 0.1], [0.9, 0.8, 0.8, 0.1]])
    assert ranks_of(scores, [[2, 3], [2, 3]], excluded=[0, NOT_THERE]).ranks.tolist() == [2, 3, 3, 4]
    # a tied candidate before the item moves it up, one behind it does not
    assert ranks_of(scores, [[2], [1]], excluded=[1, 2]).ranks.tolist() == [2, 2]
    assert ranks_of(scores[:1], [[0, 1]], excluded=[0]).ranks.tolist() == [INF, 1]


@given(
    data=st.data(),
    queries=st.integers(1, 4),
    candidates=st.integers(1, 12),
)
def test_ranks_equal_those_of_a_stable_sort(data: st.DataObject, queries: int, candidates: int) -> None:
    row_of_few_values = st.lists(st.integers(0, 3).map(float), min_size=candidates, max_size=candidates)
    scores = np.array(data.draw(st.lists(row_of_few_values, min_size=queries, max_size=queries)))
    relevant_items = [
        data.draw(st.lists(st.integers(0, candidates - 1), min_size=1, unique=True)) for _ in range(queries)
    ]
    out = [data.draw(st.integers(-1, candidates - 1)) for _ in range(queries)]
    expected = []
    for row, items, gone in zip(scores, relevant_items, out, strict=True):
        order = [int(i) for i in np.argsort(-row, kind="stable") if i != gone]
        expected += [order.index(i) + 1 if i in order else INF for i in items]
    whole, without = ranks_both_ways(scores, relevant_items, excluded=out)
    assert whole.ranks.tolist() == ranks_of(scores, relevant_items).ranks.tolist()
    assert without.ranks.tolist() == ranks_of(scores, relevant_items, excluded=out).ranks.tolist() == expected


def test_joined_parts_equal_the_whole() -> None:
    whole = gold([3, 1], [2], [INF, 4, 5])
    parts = GoldRanks.concatenate([gold([3, 1], [2]), gold([INF, 4, 5])])
    assert parts.ranks.tolist() == whole.ranks.tolist()
    assert parts.offsets.tolist() == whole.offsets.tolist()


# --- agreement with trec_eval ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_trec_eval_on_random_runs_with_ties(seed: int) -> None:
    """Every query's value of every measure equals that of ir_measures (trec_eval) to 1e-9.

    trec_eval keeps scores as 32-bit floats and puts documents with equal scores in *descending* order of
    their ids; here the one at the lower position comes first. A document at position p is therefore called
    by the zero-padded number `candidates - p`: descending ids are then ascending positions, and both rules
    say the same. Relevant items that are no candidates are judged relevant but absent from the run.
    """
    draw = np.random.default_rng(seed)
    queries, candidates = 40, 120
    scores = draw.integers(0, 12, (queries, candidates)).astype(np.float32) / 8  # many ties, exact in 32 bits
    relevant_items = [
        np.append(draw.choice(candidates, size=draw.integers(1, 9), replace=False), np.full(q % 2, NOT_THERE))
        for q in range(queries)
    ]
    ranks = ranks_of(scores, relevant_items)

    name = [f"{candidates - p:04d}" for p in range(candidates)]
    qrels = [
        ir_measures.Qrel(str(q), "absent" if p == NOT_THERE else name[p], 1)
        for q in range(queries)
        for p in relevant_items[q]
    ]
    run = [
        ir_measures.ScoredDoc(str(q), name[p], float(scores[q, p]))
        for q in range(queries)
        for p in range(candidates)
    ]
    mine = {AP: average_precision(ranks), nDCG: ndcg(ranks), RR: reciprocal_rank(ranks)}
    for k in (1, 5, 10, 20, 50):
        mine |= {nDCG @ k: ndcg(ranks, k), R @ k: recall(ranks, k)}
    count = 0
    for value in ir_measures.iter_calc(list(mine), qrels, run):
        assert value.value == pytest.approx(mine[value.measure][int(value.query_id)], abs=1e-9), value
        count += 1
    assert count == queries * len(mine)


# --- intervals ---------------------------------------------------------------------------------------------


def test_bootstrap_is_seeded_and_covers_the_mean() -> None:
    values = np.random.default_rng(0).normal(0.4, 0.2, 400)
    low, high = bootstrap_interval(values, seed=5)
    assert (low, high) == bootstrap_interval(values, seed=5)
    assert (low, high) != bootstrap_interval(values, seed=6)
    assert low < values.mean() < high
    # the normal approximation of the same interval
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert high - low == pytest.approx(2 * half, rel=0.1)


def test_bootstrap_with_weights_is_around_the_weighted_mean() -> None:
    ranks = gold(*([[1, 1, 1, 99]] * 30 + [[1]] * 30 + [[99]] * 10))
    low, high = bootstrap_interval(recall(ranks, 10), weights=ranks.counts)
    assert low < hit_rate(ranks, 10) < high
    assert bootstrap_interval(np.full(9, 0.5)) == (0.5, 0.5)


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "wanted", "excluded", "message"),
    [
        (np.zeros((1, 2)), [[]], None, "no relevant item"),
        (np.zeros((1, 3)), [[-2, 0]], None, "gold positions"),
        (np.zeros((1, 3)), [[3, 0]], None, "gold positions"),
        (np.zeros((1, 3)), [[0]], [3], "excluded positions"),
        (np.array([[0.1, np.nan]]), [[0]], None, "1 of 2 scores"),
        (np.zeros((2, 3)), [[0]], None, "2 queries, but gold of 1"),
    ],
)
def test_bad_scores_and_positions_are_refused(
    scores: np.ndarray, wanted: list[list[int]], excluded: list[int] | None, message: str
) -> None:
    with pytest.raises(RetrievalError, match=message):
        ranks_of(scores, wanted, excluded=excluded)


@pytest.mark.parametrize("measure", [recall, hit_rate, ndcg])
def test_a_cut_off_below_one_is_refused(measure: Callable[..., object]) -> None:
    with pytest.raises(RetrievalError, match="at least 1, found 0"):
        measure(gold([1]), 0)


def test_bad_ranks_and_empty_input_are_refused() -> None:
    with pytest.raises(RetrievalError, match="query 1"):
        gold([1], [])
    with pytest.raises(RetrievalError, match="count from 1"):
        gold([0])
    with pytest.raises(RetrievalError, match="no query"):
        summary(GoldRanks.of([]), ks=[10])
    with pytest.raises(RetrievalError, match="no pair"):
        hit_rate(GoldRanks.of([]), 10)
    with pytest.raises(RetrievalError, match="one value"):
        bootstrap_interval(np.empty(0))
