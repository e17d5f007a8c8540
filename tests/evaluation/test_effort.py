from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entail.data.records import HYPOTHESIS, Corpus, ExplanationTree, Step
from entail.data.text import premise_key
from entail.errors import DataError, ManifestMismatchError, RetrievalError
from entail.evaluation.retrieval.effort import (
    Effort,
    author_effort,
    measure_effort,
    rank_sentences,
    sentence_positions,
)
from entail.index.protocol import Ints
from entail.statistics.ranking import NOT_THERE

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


def test_efforts_add_up_over_trees(facts: Corpus, solar: ExplanationTree, listed_index: MakeIndex) -> None:
    index = listed_index(facts, {"h": ["a", "mid"], "mid": ["f1", "b", "c"]})
    one_tree, two_trees = measure_effort(facts, [solar], index), measure_effort(facts, [solar, solar], index)
    assert one_tree + one_tree == two_trees
    assert two_trees.to_json() == {
        "reads_per_accepted": 1.25,
        "missing_share": 0.0,
        "reads": 10,
        "accepted": 8,
        "missing": 0,
        "linked": 0,
        "nodes": 4,
        "limit": 100,
    }


def test_nothing_accepted_has_no_ratio() -> None:
    assert Effort(100, 0, 1, 0, 1).reads_per_accepted is None
    assert Effort(0, 0, 0, 0, 0).missing_share == 0.0


def reference_author(
    corpus: Corpus, tree: ExplanationTree, rankings: dict[str, list[str]], limit: int
) -> Effort:
    """The rules told once more, as one reads them: a person at a list, candidate by candidate."""
    in_tree, walked = {tree.hypothesis}, set()
    count = dict.fromkeys(("reads", "accepted", "missing", "linked", "nodes"), 0)

    def walk(sentence: str) -> None:
        children = tree.children(sentence)
        if not children or sentence in walked:
            return
        walked.add(sentence)
        count["nodes"] += 1
        texts = {tree.text(child) for child in children}
        count["linked"] += len(texts & in_tree)
        looked_for = texts - in_tree
        read = 0
        for candidate in [text for text in rankings[tree.text(sentence)] if text not in in_tree]:
            if not looked_for or read == limit:
                break
            read += 1
            if candidate in looked_for:
                looked_for.remove(candidate)
                in_tree.add(candidate)
                count["accepted"] += 1
        count["reads"] += read
        count["missing"] += len(looked_for)
        in_tree.update(tree.text(child) for child in children if child in tree.intermediates)
        for child in children:
            walk(child)

    walk(HYPOTHESIS)
    return Effort(**count, limit=limit)


@settings(max_examples=40)
@given(data=st.data(), limit=st.integers(1, 12))
def test_equals_a_person_reading_one_by_one(data: st.DataObject, limit: int) -> None:
    corpus = Corpus.of("c", [f"t{i}" for i in range(12)])
    words = st.sampled_from([*corpus.texts, "x0", "x1"])  # x: not in the corpus; texts may repeat
    sentences = {f"sent{i}": data.draw(words) for i in range(1, 5)}
    intermediates = {f"int{i}": data.draw(words) for i in range(1, 4)}
    steps = []
    for i, conclusion in enumerate([*intermediates, HYPOTHESIS]):
        usable = [*sentences, *list(intermediates)[:i]]  # only what was concluded before: no cycles
        premises = data.draw(st.lists(st.sampled_from(usable), min_size=1, max_size=4, unique=True))
        steps.append(Step(tuple(premises), conclusion))
    tree = ExplanationTree("t", data.draw(words), sentences, intermediates, tuple(steps))
    parents = {tree.text(step.conclusion) for step in steps}
    orders: dict[str, Ints] = {
        parent: np.array(data.draw(st.permutations(range(len(corpus)))), dtype=np.int64) for parent in parents
    }
    in_words = {parent: [corpus.texts[i] for i in order] for parent, order in orders.items()}
    # scores of an order, best first; the ranks of the tree's sentences are all that the walk asks for
    scores = -np.argsort(np.array([*orders.values()]), axis=1).astype(np.float32)
    ranks = rank_sentences(sentence_positions(corpus, [tree]), list(orders), scores)
    effort = reference_author(corpus, tree, in_words, limit)
    assert author_effort(corpus, tree, ranks, limit=limit) == effort


def test_ranks_that_are_known_are_not_asked_for_again(
    facts: Corpus, solar: ExplanationTree, listed_index: MakeIndex
) -> None:
    index = listed_index(facts, {"h": ["f0", "a", "mid"], "mid": ["b", "f1", "c"]})
    positions = sentence_positions(facts, [solar])
    named = {node: [facts.texts[p] for p in row if p != NOT_THERE] for node, row in positions.items()}
    assert {node: set(texts) for node, texts in named.items()} == {
        "h": {"h", "a", "mid"},  # nothing from below is in the tree yet
        "mid": {"h", "a", "mid", "b", "c"},
    }
    ranks = rank_sentences(positions, ("h", "mid"), index.scores(["h", "mid"]))
    assert ranks["h"][facts.positions[premise_key("mid")]] == 3
    index.scores = None  # whoever asks it fails
    assert measure_effort(facts, [solar], index, ranks=ranks).reads == 6


def test_bad_input_is_refused(
    facts: Corpus, solar: ExplanationTree, listed_index: MakeIndex, tree_of: MakeTree
) -> None:
    with pytest.raises(RetrievalError):
        measure_effort(facts, [solar], listed_index(facts, {}), limit=0)
    with pytest.raises(ManifestMismatchError):
        measure_effort(facts, [solar], listed_index(Corpus.of("other", ["a"]), {}))
    with pytest.raises(DataError):
        measure_effort(facts, [tree_of("h", [])], listed_index(facts, {}))
