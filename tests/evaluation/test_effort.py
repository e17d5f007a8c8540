from collections.abc import Callable
from typing import Any

import pytest

from entail.data.records import Corpus, ExplanationTree
from entail.errors import DataError, ManifestMismatchError, RetrievalError
from entail.evaluation.retrieval.effort import Effort, measure_effort

MakeIndex = Callable[..., Any]
MakeTree = Callable[..., ExplanationTree]


def test_reads_by_hand(facts: Corpus, solar: ExplanationTree, listed_index: MakeIndex) -> None:
    # h itself is skipped: f0, a, mid; below mid its own text and its ancestor h are: b, f1, c
    index = listed_index(
        facts, {"h": ["h", "f0", "a", "mid", "f5"], "mid": ["mid", "b", "h", "f1", "c", "f2"]}
    )
    effort = measure_effort(facts, [solar], index)
    assert effort == Effort(reads=6, accepted=4, missing=0, linked=0, nodes=2)
    assert effort.reads_per_accepted == 1.5
    assert effort.missing_share == 0.0


def test_a_missing_child_costs_the_limit(
    facts: Corpus, solar: ExplanationTree, listed_index: MakeIndex
) -> None:
    # a is behind more than 100 others below h, so h is given up at 100 with mid accepted at the first read
    index = listed_index(facts, {"h": ["mid"], "mid": ["b", "c"]})
    effort = measure_effort(facts, [solar], index)
    assert effort == Effort(reads=102, accepted=3, missing=1, linked=0, nodes=2)
    assert effort.missing_share == 0.25


def test_the_last_candidate_within_the_limit_is_found(
    facts: Corpus, listed_index: MakeIndex, tree_of: MakeTree
) -> None:
    tree = tree_of("h", [(["a"], "h")])
    hundredth = listed_index(facts, {"h": [*(f"f{i}" for i in range(99)), "a"]})
    assert measure_effort(facts, [tree], hundredth) == Effort(100, 1, 0, 0, 1)
    too_late = listed_index(facts, {"h": ["h", *(f"f{i}" for i in range(100)), "a"]})
    assert measure_effort(facts, [tree], too_late) == Effort(100, 0, 1, 0, 1)
    own_text_is_not_counted = listed_index(facts, {"h": ["h", *(f"f{i}" for i in range(99)), "a"]})
    assert measure_effort(facts, [tree], own_text_is_not_counted) == Effort(100, 1, 0, 0, 1)


def test_a_small_corpus_is_read_to_its_end(solar: ExplanationTree, listed_index: MakeIndex) -> None:
    corpus = Corpus.of("small", ["x", "a", "y"])
    # h: x, a, y (mid missing); mid: x, y (b and c missing, a is in the tree)
    assert measure_effort(corpus, [solar], listed_index(corpus, {})) == Effort(5, 1, 3, 0, 2)


def test_a_child_that_is_in_the_tree_is_linked(
    facts: Corpus, listed_index: MakeIndex, tree_of: MakeTree
) -> None:
    tree = tree_of("h", [(["b", "a"], "mid"), (["a", "mid"], "h")])
    index = listed_index(facts, {"h": ["a", "f0", "mid"], "mid": ["f1", "a", "b"]})
    assert measure_effort(facts, [tree, tree], index) == Effort(10, 6, 0, 2, 4)


def test_bad_input_is_refused(
    facts: Corpus, solar: ExplanationTree, listed_index: MakeIndex, tree_of: MakeTree
) -> None:
    with pytest.raises(RetrievalError):
        measure_effort(facts, [solar], listed_index(facts, {}), limit=0)
    with pytest.raises(ManifestMismatchError):
        measure_effort(facts, [solar], listed_index(Corpus.of("other", ["a"]), {}))
    with pytest.raises(DataError):
        measure_effort(facts, [tree_of("h", [])], listed_index(facts, {}))
