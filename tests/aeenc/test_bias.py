"""Pairs of Figure 3 over a corpus small enough to label by hand."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.aeenc.bias import SimilarityBias, bias
from entail.data.records import Corpus
from entail.errors import ManifestMismatchError, RetrievalError
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.protocol import Floats, Manifest
from entail.statistics.ranking import summary
from tests.evaluation.conftest import make_tree

H, M = "the sun is a star near earth", "the sun is a star"
A, B, C = "the sun makes light", "what makes light is a star", "the sun is near earth"
FILLERS = tuple(f"filler number {i}" for i in range(6))
CORPUS = Corpus.of("sky", [H, M, A, B, C, *FILLERS])


class ScoredIndex:
    """An encoder's index that is told its cosines: for each query some texts', the rest lie at 0."""

    def __init__(
        self,
        name: str,
        scores: Mapping[str, Mapping[str, float]],
        *,
        corpus: Corpus = CORPUS,
        metric: str = "inner_product",
    ) -> None:
        self.name, self.told, self.corpus = name, scores, corpus
        self.manifest = Manifest(f"{name}@1", 4, metric, len(corpus), corpus.hash)

    def scores(self, queries: Sequence[str]) -> Floats:
        scores = np.zeros((len(queries), len(self.corpus)), dtype=np.float32)
        for row, query in zip(scores, queries, strict=True):
            for text, value in self.told.get(query, {}).items():
                row[self.corpus.position(text)] = value
        return scores


SUN = make_tree(H, [([A, B], M), ([M, C], H)], distractors=[FILLERS[0]])

# H finds itself, M (gold) and a distractor of its tree; C is lost. M finds itself, C (its tree's, not its own
# child) and A (gold); B is lost.
BASE = ScoredIndex("base", {H: {H: 1, M: 0.9, FILLERS[0]: 0.8, C: 0.3}, M: {M: 1, C: 0.9, A: 0.5, B: 0.2}})
TUNED = ScoredIndex("tuned", {H: {M: 0.6, C: 0.7}, M: {A: 0.8, B: 0.9, C: -0.5}})


def labelled(found: SimilarityBias) -> dict[tuple[str, str], str]:
    """Return (query, premise) -> group."""
    return {(row["query"], row["premise"]): row["group"] for row in found.rows()}


def test_groups_and_cosines_by_hand() -> None:
    report = bias(CORPUS, [SUN], [BASE, TUNED], k=3)
    assert report.queries == (M, H)
    assert labelled(report) == {
        (M, M): "FP",
        (M, C): "FP",
        (M, A): "TP",
        (M, B): "FN",
        (H, H): "FP",
        (H, M): "TP",
        (H, FILLERS[0]): "FP",
        (H, C): "FN",
    }
    assert report.counts == {"TP": 2, "FN": 2, "FP": 4}
    cosines = {(r["retriever"], r["query"], r["premise"]): r["cosine"] for r in report.rows()}
    assert cosines["base", H, C] == pytest.approx(0.3)
    assert cosines["tuned", H, C] == pytest.approx(0.7)
    assert cosines["tuned", M, C] == pytest.approx(-0.5)
    assert cosines["tuned", H, FILLERS[0]] == 0
    # Under the base FP stand above FN, at .8 to 1 against .2 and .3; under the other encoder below.
    overlap, labelling, tuned = report.panels
    assert [panel.separation.auc for panel in (labelling, tuned) if panel.separation] == [1, 0]
    assert ("above" in labelling.finding, "below" in tuned.finding) == (True, True)
    assert (overlap.retriever, tuned.letter, tuned.retriever) == (None, "c", "tuned")
    assert labelling.quartiles["FN"] == pytest.approx((0.225, 0.25, 0.275))

    # A gold child that is the query is gold.
    itself = make_tree(H, [([A, " " + H], H)])
    report = bias(CORPUS, [itself], [ScoredIndex("base", {H: {H: 1, A: 0.5}})], k=2)
    assert labelled(report) == {(H, H): "TP", (H, A): "TP"}


@given(seed=st.integers(0, 999), k=st.integers(1, 12))
def test_labels_agree_with_the_evaluation(seed: int, k: int) -> None:
    draw = np.random.default_rng(seed)
    texts = CORPUS.texts
    scores = {q: dict(zip(texts, draw.integers(0, 5, len(texts)) / 4, strict=True)) for q in texts}
    steps = [([FILLERS[0], A, "not there"], FILLERS[1]), ([FILLERS[1], M], FILLERS[2])]
    trees = [SUN, make_tree(FILLERS[2], steps)]
    index = ScoredIndex("random", scores)
    report, evaluation = bias(CORPUS, trees, [index], k=k), evaluate_premises(CORPUS, trees, index)
    counts = report.counts
    assert counts["TP"] / evaluation.pairs == pytest.approx(summary(evaluation.paper, ks=[k])[f"Hit@{k}"])
    assert counts["TP"] + counts["FN"] + 1 == evaluation.pairs  # "not there"
    assert counts["TP"] + counts["FP"] == len(evaluation.queries) * min(k, len(CORPUS))
    pairs = {(int(q), int(p)) for q, p in zip(report.query, report.premise, strict=True)}
    assert len(pairs) == len(report.query)


def test_indexes_that_cannot_be_measured_are_refused() -> None:
    broken = ScoredIndex("broken", {H: {A: float("nan")}})
    unlike = ScoredIndex("tfidf", {}, metric="tfidf_cosine")
    for indexes in ([], [BASE, unlike], [broken, BASE], [BASE, broken]):
        with pytest.raises(RetrievalError):
            bias(CORPUS, [SUN], indexes)
    with pytest.raises(ManifestMismatchError):
        bias(CORPUS, [SUN], [BASE, ScoredIndex("other", {}, corpus=Corpus.of("small", [A, B]))])
