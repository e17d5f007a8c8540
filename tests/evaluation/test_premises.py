"""Ranks of gold premises, and candidates that an author reads to accept them, by hand."""

from typing import Any

import pytest

from entail.data.records import Corpus, ExplanationTree
from entail.errors import DataError, ManifestMismatchError, RetrievalError
from entail.evaluation.retrieval.effort import Effort, measure_effort
from entail.evaluation.retrieval.premises import compare_evaluations, evaluate_premises
from entail.progress import Progress
from tests.evaluation.conftest import FACTS, SOLAR, ListedIndex, make_tree

INF = float("inf")
# The own text first, as retrievers have it. h finds mid at 2 and a at 12, mid finds c at 2 and b at 4.
LISTED = ListedIndex(
    FACTS, {"h": ["h", "mid", *(f"f{i}" for i in range(9)), "a"], "mid": ["mid", "c", "f7", "b"]}
)


def test_both_protocols_by_hand() -> None:
    evaluation = evaluate_premises(FACTS, [SOLAR], LISTED, ks=[2, 10])
    assert evaluation.queries == ("mid", "h")
    assert evaluation.paper.ranks.tolist() == [4, 2, 12, 2]  # children in the order of the proof
    assert evaluation.query_excluded.ranks.tolist() == [3, 1, 11, 1]

    paper, excluded = evaluation.to_json()["paper"], evaluation.to_json()["query_excluded"]
    assert paper["MAP"] == pytest.approx(((1 / 2 + 2 / 4) / 2 + (1 / 2 + 2 / 12) / 2) / 2)
    assert excluded["MAP"] == pytest.approx(((1 + 2 / 3) / 2 + (1 + 2 / 11) / 2) / 2)
    assert (paper["Hit@2"], paper["Hit@10"]) == (0.5, 0.75)


def test_gold_that_is_not_in_the_corpus_is_counted_and_named() -> None:
    tree = make_tree("elsewhere", [(["a", "never heard of"], "elsewhere")])
    evaluation = evaluate_premises(FACTS, [tree], ListedIndex(FACTS, {"elsewhere": ["a"]}))
    assert evaluation.missing == ("never heard of",)
    assert evaluation.paper.ranks.tolist() == evaluation.query_excluded.ranks.tolist() == [1, INF]
    assert (evaluation.pairs, evaluation.to_json()["paper"]["Hit@50"]) == (2, 0.5)


def test_batches_change_nothing_and_bound_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [make_tree(f"f{i}", [([f"f{i + 1}", f"f{149 - i}"], f"f{i}")]) for i in range(60)]
    index = ListedIndex(FACTS, {f"f{i}": [f"f{i}", f"f{i + 1}"] for i in range(60)})
    expected = evaluate_premises(FACTS, trees, index)
    monkeypatch.setattr("entail.evaluation.retrieval.premises._SCORES_AT_ONCE", 25 * len(FACTS))
    reports: list[Progress] = []
    evaluation = evaluate_premises(FACTS, trees, index, progress=reports.append)
    assert index.batches == [60, 25, 25, 10]
    assert evaluation.to_json() == expected.to_json()
    assert (reports[-1].done, reports[-1].total, reports[-1].unit) == (60, 60, "queries")


SMALL = Corpus.of("small", ["x", "a", "y"])
SHORT = make_tree("h", [(["a"], "h")])
LINKED = make_tree("h", [(["b", "a"], "mid"), (["a", "mid"], "h")])


def effort_of(first: Any, *trees: ExplanationTree, corpus: Corpus = FACTS) -> Effort:
    return measure_effort(corpus, trees, ListedIndex(corpus, first))


def test_reads_by_hand() -> None:
    # h itself is skipped: f0, a, mid; below mid its own text and its ancestor h are: b, f1, c
    first = {"h": ["h", "f0", "a", "mid", "f5"], "mid": ["mid", "b", "h", "f1", "c", "f2"]}
    effort = effort_of(first, SOLAR)
    assert effort == Effort(reads=6, accepted=4, missing=0, linked=0, nodes=2)
    assert (effort.reads_per_accepted, effort.missing_share) == (1.5, 0)
    # a is behind more than 100 others below h, which is given up at 100 with mid accepted at the first read
    effort = effort_of({"h": ["mid"], "mid": ["b", "c"]}, SOLAR)
    assert effort == Effort(reads=102, accepted=3, missing=1, linked=0, nodes=2)
    assert effort.missing_share == 0.25
    # the last candidate within the limit, the next one, and the last if its own text is not counted
    before = [f"f{i}" for i in range(99)]
    for candidates, reached in (
        ([*before, "a"], 1),
        (["h", *before, "f99", "a"], 0),
        (["h", *before, "a"], 1),
    ):
        assert effort_of({"h": candidates}, SHORT) == Effort(100, reached, 1 - reached, 0, 1)
    # a small corpus is read to its end: x, a, y (mid missing); x, y (b and c missing, a is in the tree)
    assert effort_of({}, SOLAR, corpus=SMALL) == Effort(reads=5, accepted=1, missing=3, linked=0, nodes=2)
    # a below mid is in the tree already
    first = {"h": ["a", "f0", "mid"], "mid": ["f1", "a", "b"]}
    assert effort_of(first, LINKED, LINKED) == Effort(10, accepted=6, missing=0, linked=2, nodes=4)


def test_bad_input_is_refused() -> None:
    """Evaluations of other trees, no limit, an index of another corpus, trees without proofs."""
    with pytest.raises(RetrievalError):
        compare_evaluations(*(evaluate_premises(FACTS, [tree], LISTED) for tree in (SOLAR, SHORT)))
    with pytest.raises(RetrievalError):
        measure_effort(FACTS, [SOLAR], LISTED, limit=0)
    for measure in (evaluate_premises, measure_effort):
        with pytest.raises(ManifestMismatchError):
            measure(FACTS, [SOLAR], ListedIndex(SMALL, {}))
        with pytest.raises(DataError):
            measure(FACTS, [make_tree("h", [])], LISTED)
