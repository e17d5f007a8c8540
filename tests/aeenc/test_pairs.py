"""Training pairs: gold, judged, sampled from the results of a retriever."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from entail.aeenc.pairs import TrainingPairs, gold_pairs
from entail.aeenc.sampling import Sample, sample
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree, Step
from entail.errors import ManifestMismatchError, SamplingError, TrainingError
from entail.index.protocol import Hits, Manifest

SMALL = Corpus.of("small", ["a", "b", "c", "q"])


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
    pairs = gold_pairs(SMALL, [tree(used=("a", "b"))])
    assert as_texts(pairs, SMALL) == {"q": (["a", "b"], ["c"])}
    assert pairs.counts == {"queries": 1, "positives": 2, "negatives": 1, "triplets": 2}


def test_a_child_in_one_tree_is_no_negative_because_it_is_a_distractor_in_another() -> None:
    pairs = gold_pairs(SMALL, [tree(used=("a",), distractors=("b",)), tree(used=("b",), distractors=("c",))])
    assert as_texts(pairs, SMALL) == {"q": (["a", "b"], ["c"])}
    assert pairs.dropped["both"] == 1


def test_what_the_corpus_lacks_is_counted_and_named() -> None:
    pairs = gold_pairs(Corpus.of("less", ["a", "c"]), [tree(used=("a", "b"))])
    assert pairs.missing == ("b",)
    assert pairs.dropped["missing"] == 1
    with pytest.raises(TrainingError):
        gold_pairs(Corpus.of("other", ["x"]), [tree(used=("a",), distractors=())])


def test_a_query_equal_to_its_positive_is_left_out() -> None:
    pairs = gold_pairs(SMALL, [tree(used=("q", "a"))])
    assert as_texts(pairs, SMALL) == {"q": (["a"], ["c"])}
    assert pairs.dropped["own_text"] == 1


def test_rounds_add_up_and_a_pair_counts_once() -> None:
    first = gold_pairs(SMALL, [tree(used=("a",), distractors=("c",))])
    second = gold_pairs(SMALL, [tree(used=("a", "b"), distractors=("c", "q"))])
    assert as_texts(first.join(second), SMALL) == {"q": (["a", "b"], ["c", "q"])}
    assert first.join(first).digest == first.digest
    assert first.digest != second.digest


CORPUS = Corpus.of("small", ["mid", "leaf a", "leaf b", "noise", "other noise", "root"])
TREE = ExplanationTree(
    id="t",
    hypothesis="root",
    sentences={"sent1": "leaf a", "sent2": "leaf b", "sent3": "noise"},
    intermediates={"int1": "mid"},
    steps=(Step(("sent1", "sent2"), "int1"), Step(("int1", "sent2"), "hypothesis")),
    distractors=("sent3",),
)


class Scripted:
    """An index that ranks as it is told: query -> positions, best first."""

    name = "scripted"
    manifest = Manifest("scripted@1", 0, "inner_product", len(CORPUS), CORPUS.hash)

    def __init__(self, rankings: dict[str, list[int]]) -> None:
        self.rankings = rankings

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        rows = [self.rankings.get(q, list(range(len(CORPUS))))[:k] for q in queries]
        return Hits(np.array(rows), np.zeros((len(rows), k), dtype=np.float32))

    def scores(self, queries: Sequence[str]) -> Any:
        raise NotImplementedError


def found(sampled: Sample) -> dict[str, tuple[set[str], set[str]]]:
    """Return query -> positives and negatives."""
    pairs = sampled.pairs
    return {
        query: tuple({CORPUS.texts[i] for i in side} for side in sides)  # type: ignore[misc]  # of two sides
        for query, *sides in zip(pairs.queries, pairs.positives, pairs.negatives, strict=True)
    }


def test_every_judged_sentence_is_a_query() -> None:
    index = Scripted({"root": [0, 3, 5], "mid": [1, 4, 2]})
    got = sample(CORPUS, Judgements.of_trees([TREE]), index, k=3)
    # Its own text, when retrieved, is a hard negative like any other.
    assert found(got) == {
        "root": ({"mid"}, {"noise", "root"}),
        "mid": ({"leaf a", "leaf b"}, {"other noise"}),
    }
    counts = {"queries": 2, "k": 3, "positives": 3, "negatives": 3, "unjudged": 0, "own_text": 0}
    assert got.counts == counts


def test_what_nobody_judged_and_a_query_that_explains_itself_are_left_out_and_counted() -> None:
    judged = [JudgedPair("root", text, text != "noise") for text in ("root", "mid", "noise")]
    got = sample(CORPUS, Judgements.of_pairs(judged), Scripted({}), k=6)
    assert found(got) == {"root": ({"mid"}, {"noise"})}
    assert (got.counts["unjudged"], got.counts["own_text"]) == (3, 1)


def test_bad_requests_are_refused() -> None:
    judgements, index = Judgements.of_trees([TREE]), Scripted({})
    for refused, k in ((judgements, 0), (Judgements.of_trees([]), 20)):
        with pytest.raises(SamplingError):
            sample(CORPUS, refused, index, k=k)
    with pytest.raises(ManifestMismatchError):
        sample(Corpus.of("other", ["x", "y"]), judgements, index)
