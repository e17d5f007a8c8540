from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entail.data.records import HYPOTHESIS, Corpus, ExplanationTree, Step
from entail.errors import DataError, ManifestMismatchError, RetrievalError
from entail.evaluation.retrieval.effort import Effort, measure_effort
from tests.evaluation.conftest import ListedIndex

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
    in_words = {parent: data.draw(st.permutations(corpus.texts)) for parent in parents}
    effort = reference_author(corpus, tree, in_words, limit)
    assert measure_effort(corpus, [tree], ListedIndex(corpus, in_words), limit=limit) == effort


def test_bad_input_is_refused(
    facts: Corpus, solar: ExplanationTree, listed_index: MakeIndex, tree_of: MakeTree
) -> None:
    with pytest.raises(RetrievalError):
        measure_effort(facts, [solar], listed_index(facts, {}), limit=0)
    with pytest.raises(ManifestMismatchError):
        measure_effort(facts, [solar], listed_index(Corpus.of("other", ["a"]), {}))
    with pytest.raises(DataError):
        measure_effort(facts, [tree_of("h", [])], listed_index(facts, {}))
