from collections.abc import Sequence
from typing import Any

import pytest

from entail.aeenc.pairs import TrainingPairs, gold_pairs, judged_pairs
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree, Step
from entail.errors import TrainingError


def corpus(*texts: str) -> Corpus:
    return Corpus.of("small", texts or ("a", "b", "c", "q"))


def tree(
    hypothesis: str = "q", used: Sequence[str] = ("a",), distractors: Sequence[str] = ("c",)
) -> ExplanationTree:
    sentences = {f"sent{i}": text for i, text in enumerate((*used, *distractors))}
    names = list(sentences)
    return ExplanationTree(
        id="t",
        hypothesis=hypothesis,
        sentences=sentences,
        steps=(Step(tuple(names[: len(used)]), "hypothesis"),),
        distractors=tuple(names[len(used) :]),
    )


def as_texts(pairs: TrainingPairs, of: Corpus) -> dict[str, Any]:
    return {
        query: ([of.premises[i].text for i in p], [of.premises[i].text for i in n])
        for query, p, n in zip(pairs.queries, pairs.positives, pairs.negatives, strict=True)
    }


def test_gold_triplets_are_children_against_the_distractors_of_their_tree() -> None:
    pairs = gold_pairs(corpus(), [tree(used=("a", "b"))])
    assert as_texts(pairs, corpus()) == {"q": (["a", "b"], ["c"])}
    assert pairs.counts == {"queries": 1, "positives": 2, "negatives": 1, "triplets": 2}


def test_a_child_in_one_tree_is_no_negative_because_it_is_a_distractor_in_another() -> None:
    pairs = gold_pairs(
        corpus(), [tree(used=("a",), distractors=("b",)), tree(used=("b",), distractors=("c",))]
    )
    assert as_texts(pairs, corpus()) == {"q": (["a", "b"], ["c"])}
    assert pairs.dropped["both"] == 1


def test_what_the_corpus_lacks_is_counted_and_named() -> None:
    pairs = gold_pairs(corpus("a", "c"), [tree(used=("a", "b"))])
    assert pairs.missing == ("b",)
    assert pairs.dropped["missing"] == 1
    with pytest.raises(TrainingError, match="1 judged premises are not in corpus 'small'"):
        gold_pairs(corpus("x"), [tree(used=("a",), distractors=())])


def test_a_query_equal_to_its_positive_is_left_out() -> None:
    pairs = gold_pairs(corpus(), [tree(used=("q", "a"))])
    assert as_texts(pairs, corpus()) == {"q": (["a"], ["c"])}
    assert pairs.dropped["own_text"] == 1


def test_pairs_judged_both_ways_are_neither() -> None:
    verdicts = [JudgedPair("q", "a", True), JudgedPair("q", "a", False), JudgedPair("q", "b", True)]
    judgements = Judgements.of_pairs(verdicts)
    assert judgements.contradictions == (("q", "a"),)
    assert judgements.explains("q", "a") is None
    assert as_texts(judged_pairs(corpus(), judgements), corpus()) == {"q": (["b"], [])}


def test_rounds_add_up_and_a_pair_counts_once() -> None:
    first = gold_pairs(corpus(), [tree(used=("a",), distractors=("c",))])
    second = gold_pairs(corpus(), [tree(used=("a", "b"), distractors=("c", "q"))])
    assert as_texts(first.join(second), corpus()) == {"q": (["a", "b"], ["c", "q"])}
    assert first.join(first).digest == first.digest
    assert first.digest != second.digest
