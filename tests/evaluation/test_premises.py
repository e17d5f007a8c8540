from collections.abc import Callable
from typing import Any

import pytest

from entail.data.records import Corpus, ExplanationTree
from entail.errors import DataError, ManifestMismatchError, RetrievalError
from entail.evaluation.retrieval.premises import compare_evaluations, evaluate_premises
from entail.progress import Progress

MakeIndex = Callable[..., Any]
MakeTree = Callable[..., ExplanationTree]
INF = float("inf")


@pytest.fixture
def listed(facts: Corpus, listed_index: MakeIndex) -> Any:
    # The own text first, as retrievers have it. h finds mid at 2 and a at 12, mid finds c at 2 and b at 4.
    first = {"h": ["h", "mid", *(f"f{i}" for i in range(9)), "a"], "mid": ["mid", "c", "f7", "b"]}
    return listed_index(facts, first)


def test_both_protocols_by_hand(facts: Corpus, solar: ExplanationTree, listed: Any) -> None:
    evaluation = evaluate_premises(facts, [solar], listed, ks=[2, 10])
    assert evaluation.queries == ("mid", "h")
    assert evaluation.paper.ranks.tolist() == [4, 2, 12, 2]  # children in the order of the proof
    assert evaluation.query_excluded.ranks.tolist() == [3, 1, 11, 1]

    paper, excluded = evaluation.to_json()["paper"], evaluation.to_json()["query_excluded"]
    assert paper["MAP"] == pytest.approx(((1 / 2 + 2 / 4) / 2 + (1 / 2 + 2 / 12) / 2) / 2)
    assert excluded["MAP"] == pytest.approx(((1 + 2 / 3) / 2 + (1 + 2 / 11) / 2) / 2)
    assert paper["Hit@2"] == 0.5
    assert paper["Hit@10"] == 0.75


def test_gold_that_is_not_in_the_corpus_is_counted_and_named(
    facts: Corpus, listed_index: MakeIndex, tree_of: MakeTree
) -> None:
    tree = tree_of("elsewhere", [(["a", "never heard of"], "elsewhere")])
    evaluation = evaluate_premises(facts, [tree], listed_index(facts, {"elsewhere": ["a"]}))
    assert evaluation.missing == ("never heard of",)
    assert evaluation.paper.ranks.tolist() == evaluation.query_excluded.ranks.tolist() == [1, INF]
    assert evaluation.to_json()["paper"]["Hit@50"] == 0.5
    assert evaluation.pairs == 2


def test_batches_change_nothing_and_bound_the_scores(
    facts: Corpus, listed_index: MakeIndex, tree_of: MakeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = [tree_of(f"f{i}", [([f"f{i + 1}", f"f{149 - i}"], f"f{i}")]) for i in range(60)]
    first = {f"f{i}": [f"f{i}", f"f{i + 1}"] for i in range(60)}
    whole, parts = listed_index(facts, first), listed_index(facts, first)
    expected = evaluate_premises(facts, trees, whole)
    assert whole.batches == [60]
    monkeypatch.setattr("entail.evaluation.retrieval.premises._SCORES_AT_ONCE", 25 * len(facts))
    reports: list[Progress] = []
    evaluation = evaluate_premises(facts, trees, parts, progress=reports.append)
    assert parts.batches == [25, 25, 10]
    assert evaluation.to_json() == expected.to_json()
    assert (reports[-1].done, reports[-1].total, reports[-1].unit) == (60, 60, "queries")


def test_evaluations_of_other_trees_are_not_compared(
    facts: Corpus, solar: ExplanationTree, listed: Any, tree_of: MakeTree
) -> None:
    first = evaluate_premises(facts, [solar], listed)
    second = evaluate_premises(facts, [tree_of("h", [(["a", "b"], "h")])], listed)
    with pytest.raises(RetrievalError):
        compare_evaluations(first, second)


def test_an_index_of_another_corpus_is_refused(
    facts: Corpus, solar: ExplanationTree, listed_index: MakeIndex
) -> None:
    other = Corpus.of("other", ["a", "b"])
    with pytest.raises(ManifestMismatchError):
        evaluate_premises(facts, [solar], listed_index(other, {}))


def test_trees_without_proofs_are_refused(facts: Corpus, listed: Any, tree_of: MakeTree) -> None:
    with pytest.raises(DataError):
        evaluate_premises(facts, [tree_of("h", [])], listed)
