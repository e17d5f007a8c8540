"""Training pairs: gold, judged, sampled from the results of a retriever."""

from typing import Any

import pytest

from entail.aeenc.pairs import TrainingPairs, gold_pairs
from entail.aeenc.sampling import sample
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus
from entail.errors import ManifestMismatchError, SamplingError, TrainingError
from tests.evaluation.conftest import ListedIndex, make_tree

SMALL = Corpus.of("small", ["a", "b", "c", "q"])


def tree(used: str, distractors: str = "c") -> Any:
    """Make a tree of q from its premises and distractors, a letter each."""
    return make_tree("q", [(used, "q")], distractors=distractors)


def as_texts(pairs: TrainingPairs, of: Corpus) -> dict[str, Any]:
    return {
        query: ([of.premises[i].text for i in p], [of.premises[i].text for i in n])
        for query, p, n in zip(pairs.queries, pairs.positives, pairs.negatives, strict=True)
    }


@pytest.mark.parametrize(
    ("trees", "positives", "rule"),
    [
        ([tree("ab")], ["a", "b"], None),
        # a child in one tree is no negative because it is a distractor in another
        ([tree("a", "b"), tree("b")], ["a", "b"], "both"),
        ([tree("ax")], ["a"], "missing"),
        ([make_tree("q", [([" q", "a"], "q")], distractors="c")], ["a"], "own_text"),
    ],
)
def test_gold_is_children_against_the_distractors_of_their_tree(
    trees: Any, positives: list[str], rule: str | None
) -> None:
    pairs = gold_pairs(SMALL, trees)
    assert as_texts(pairs, SMALL) == {"q": (positives, ["c"])}
    sizes = {"queries": 1, "positives": len(positives), "negatives": 1, "triplets": len(positives)}
    assert pairs.counts == sizes
    assert {name: count for name, count in pairs.dropped.items() if count} == ({rule: 1} if rule else {})
    assert pairs.missing == (("x",) if rule == "missing" else ())


def test_rounds_add_up_and_a_pair_counts_once() -> None:
    first, second = gold_pairs(SMALL, [tree("a")]), gold_pairs(SMALL, [tree("ab", "cq")])
    assert as_texts(first.join(second), SMALL) == {"q": (["a", "b"], ["c", "q"])}
    assert first.join(first).digest == first.digest
    assert first.digest != second.digest


CORPUS = Corpus.of("small", ["mid", "leaf a", "leaf b", "noise", "other noise", "root"])
TREE = make_tree("root", [(["leaf a", "leaf b"], "mid"), (["mid", "leaf b"], "root")], distractors=["noise"])


def test_every_judged_sentence_is_a_query() -> None:
    first = {"root": ["mid", "noise", "root"], "mid": ["leaf a", "other noise", "leaf b"]}
    sampled = sample(CORPUS, Judgements.of_trees([TREE]), ListedIndex(CORPUS, first), k=3)
    # Its own text, when retrieved, is a hard negative like any other.
    assert as_texts(sampled.pairs, CORPUS) == {
        "root": (["mid"], ["noise", "root"]),
        "mid": (["leaf a", "leaf b"], ["other noise"]),
    }
    counts = {"queries": 2, "k": 3, "positives": 3, "negatives": 3, "unjudged": 0, "own_text": 0}
    assert sampled.counts == counts


def test_what_nobody_judged_and_a_query_that_explains_itself_are_left_out_and_counted() -> None:
    judged = [JudgedPair("root", text, text != "noise") for text in ("root", "mid", "noise")]
    sampled = sample(CORPUS, Judgements.of_pairs(judged), ListedIndex(CORPUS, {}), k=6)
    assert as_texts(sampled.pairs, CORPUS) == {"root": (["mid"], ["noise"])}
    assert (sampled.counts["unjudged"], sampled.counts["own_text"]) == (3, 1)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(TrainingError):
        gold_pairs(Corpus.of("other", ["x"]), [tree("a", "")])
    judgements, index = Judgements.of_trees([TREE]), ListedIndex(CORPUS, {})
    for refused, k in ((judgements, 0), (Judgements.of_trees([]), 20)):
        with pytest.raises(SamplingError):
            sample(CORPUS, refused, index, k=k)
    with pytest.raises(ManifestMismatchError):
        sample(Corpus.of("other", ["x", "y"]), judgements, index)
