"""Ranking measures: by hand, against a stable sort and against trec_eval (ir_measures)."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, nDCG

from entail.errors import RetrievalError
from entail.statistics.ranking import (
    NOT_THERE,
    GoldRanks,
    average_precision,
    ndcg,
    query_values,
    ranks_of,
    recall,
    reciprocal_rank,
    summary,
)

INF = np.inf


def gold(*rows: list[float]) -> GoldRanks:
    return GoldRanks.of(rows)


def test_measures_by_hand() -> None:
    # 1/1 and 2/4 over two items; 1/2 over three, two of them never found
    assert average_precision(gold([4, 1], [2, INF, INF])) == pytest.approx([0.75, 0.5 / 3])
    # gains 1/log2(2) + 1/log2(4) = 1.5, ideal 1 + 1/log2(3)
    assert ndcg(gold([1, 3])) == pytest.approx([1.5 / (1 + 1 / np.log2(3))])
    assert reciprocal_rank(gold([9, 4], [INF])) == pytest.approx([0.25, 0])
    assert recall(gold([10], [11]), 10) == pytest.approx([1, 0])  # a rank equal to the cut-off counts
    assert summary(gold([1, 2, 30, 40], [5]), ks=[10])["Hit@10"] == pytest.approx(0.6)  # a share of pairs
    assert set(summary(gold([1, 2, 3], [1]), ks=[10]).values()) == {1}
    assert set(summary(gold([INF, INF], [INF]), ks=[10]).values()) == {0}
    assert list(query_values(gold([1]), ks=[1, 10])) == list(summary(gold([1]), ks=[1, 10]))


def test_ranks_by_hand() -> None:
    scores = np.array([[0.5, 0.9, 0.5, 0.5, 0.1], [0.3, 0.2, 0.1, 0, 0]])  # ties go by position
    ranks = ranks_of(scores, [[4, 0, 1, 2, 3], [1, NOT_THERE]])
    assert ranks.ranks.tolist() == [5, 2, 1, 3, 4, 2, INF]  # in the order of the relevant items
    assert ranks.ascending.tolist() == [1, 2, 3, 4, 5, 2, INF]
    assert recall(ranks, 2) == pytest.approx([0.4, 0.5])  # a missing item counts
    assert ranks.take([1]).ranks.tolist() == [2, INF]


@given(data=st.data(), queries=st.integers(1, 4), candidates=st.integers(1, 12))
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
    assert ranks_of(scores, relevant_items, excluded=out).ranks.tolist() == expected


def test_joined_parts_equal_the_whole() -> None:
    whole = gold([3, 1], [2], [INF, 4, 5])
    parts = GoldRanks.concatenate([gold([3, 1], [2]), gold([INF, 4, 5])])
    assert parts.ranks.tolist() == whole.ranks.tolist()
    assert parts.offsets.tolist() == whole.offsets.tolist()


def test_bad_ranks_and_cut_offs_are_refused() -> None:
    for bad in ([[1], []], [[0]]):
        with pytest.raises(RetrievalError):
            GoldRanks.of(bad)
    with pytest.raises(RetrievalError):
        ranks_of(np.array([[0.1, np.nan]]), [[0]])
    for ranks, k in ((GoldRanks.of([]), 10), (gold([1]), 0)):
        with pytest.raises(RetrievalError):
            summary(ranks, ks=[k])


def test_agrees_with_trec_eval_on_random_runs_with_ties() -> None:
    """Every query's value of every measure equals that of ir_measures (trec_eval) to 1e-9.

    trec_eval keeps scores as 32-bit floats and puts documents with equal scores in *descending* order of
    their ids; here the one at the lower position comes first. A document at position p is therefore called
    by the zero-padded number `candidates - p`: descending ids are then ascending positions, and both rules
    say the same. Relevant items that are no candidates are judged relevant but absent from the run.
    """
    draw = np.random.default_rng(0)
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
    values = list(ir_measures.iter_calc(list(mine), qrels, run))
    assert len(values) == queries * len(mine)
    for value in values:
        assert value.value == pytest.approx(mine[value.measure][int(value.query_id)], abs=1e-9), value
