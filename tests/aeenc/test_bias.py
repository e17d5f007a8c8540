"""Pairs of Figure 3 over a corpus small enough to label by hand."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.aeenc.bias import SimilarityBias, bias
from entail.data.records import HYPOTHESIS, Corpus, ExplanationTree, Step
from entail.data.text import premise_key
from entail.errors import ManifestMismatchError, RetrievalError
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.protocol import Floats, Hits, Manifest
from entail.statistics.ranking import summary

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
                row[self.corpus.positions[premise_key(text)]] = value
        return scores

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        raise AssertionError("labels and cosines come from the same scores")


def tree(steps: Sequence[tuple[Sequence[str], str]], *, distractors: Sequence[str] = ()) -> ExplanationTree:
    """Make a tree of (premises, conclusion); the last conclusion is the hypothesis."""
    *inner, hypothesis = [conclusion for _, conclusion in steps]
    ids = {hypothesis: HYPOTHESIS} | {text: f"int{i}" for i, text in enumerate(inner, 1)}
    leaves = [p for premises, _ in steps for p in premises if p not in ids]
    ids |= {text: f"sent{i}" for i, text in enumerate([*dict.fromkeys(leaves), *distractors], 1)}
    return ExplanationTree(
        id="t",
        hypothesis=hypothesis,
        sentences={name: text for text, name in ids.items() if name.startswith("sent")},
        intermediates={name: text for text, name in ids.items() if name.startswith("int")},
        steps=tuple(Step(tuple(ids[p] for p in premises), ids[c]) for premises, c in steps),
        distractors=tuple(ids[text] for text in distractors),
    )


SUN = tree([([A, B], M), ([M, C], H)], distractors=[FILLERS[0]])

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


def test_a_gold_child_that_is_the_query_is_gold() -> None:
    itself = tree([([A, " " + H], H)])
    report = bias(CORPUS, [itself], [ScoredIndex("base", {H: {H: 1, A: 0.5}})], k=2)
    assert labelled(report) == {(H, H): "TP", (H, A): "TP"}


@given(seed=st.integers(0, 999), k=st.integers(1, 12))
def test_labels_agree_with_the_evaluation(seed: int, k: int) -> None:
    draw = np.random.default_rng(seed)
    texts = CORPUS.texts
    scores = {q: dict(zip(texts, draw.integers(0, 5, len(texts)) / 4, strict=True)) for q in texts}
    trees = [SUN, tree([([FILLERS[0], A, "not there"], FILLERS[1]), ([FILLERS[1], M], FILLERS[2])])]
    index = ScoredIndex("random", scores)
    report, evaluation = bias(CORPUS, trees, [index], k=k), evaluate_premises(CORPUS, trees, index)
    counts = report.counts
    assert counts["TP"] / evaluation.pairs == pytest.approx(summary(evaluation.paper, ks=[k])[f"Hit@{k}"])
    assert counts["TP"] + counts["FN"] + 1 == evaluation.pairs  # "not there"
    assert counts["TP"] + counts["FP"] == len(evaluation.queries) * min(k, len(CORPUS))
    pairs = {(int(q), int(p)) for q, p in zip(report.query, report.premise, strict=True)}
    assert len(pairs) == len(report.query)


def test_indexes_that_cannot_be_measured_are_refused() -> None:
    with pytest.raises(RetrievalError):
        bias(CORPUS, [SUN], [])
    with pytest.raises(RetrievalError):
        bias(CORPUS, [SUN], [BASE, ScoredIndex("tfidf", {}, metric="tfidf_cosine")])
    with pytest.raises(ManifestMismatchError):
        bias(CORPUS, [SUN], [BASE, ScoredIndex("other", {}, corpus=Corpus.of("small", [A, B]))])


@pytest.mark.parametrize("place", [0, 1])
def test_cosines_that_are_no_numbers_are_refused(place: int) -> None:
    broken = ScoredIndex("broken", {H: {A: float("nan")}})
    indexes = [BASE, BASE]
    indexes[place] = broken
    with pytest.raises(RetrievalError):
        bias(CORPUS, [SUN], indexes)
