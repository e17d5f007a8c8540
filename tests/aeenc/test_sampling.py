from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from entail.aeenc.sampling import Sample, sample
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree, Step
from entail.errors import ManifestMismatchError, SamplingError
from entail.index.protocol import Hits, Manifest

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
        query: tuple({CORPUS.texts[i] for i in side} for side in sides)  # type: ignore[misc]
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
