"""A candidate and the active encoder, query by query; the same on an author's judgements."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus
from entail.errors import DataError, ManifestMismatchError, RetrievalError
from entail.evaluation.retrieval.paired import (
    PairedComparison,
    QueryFigures,
    compare_on_judgements,
    compare_paired,
)
from entail.index.protocol import Floats, Hits, Manifest


def measured(encoder: str, values: list[float], weights: list[float] | None = None) -> QueryFigures:
    return QueryFigures(
        encoder=encoder,
        revision=f"{encoder}@1",
        split="four queries",
        queries=("a", "b", "c", "d"),
        primary="MAP",
        values={
            "MAP": (np.array(values), np.ones(4)),
            "Hit": (np.array(values), np.array(weights or [1.0] * 4)),
        },
    )


LOW, HIGH = [0.1, 0.2, 0.1, 0.2], [0.5, 0.7, 0.5, 0.7]


def test_figures_are_weighted_means() -> None:
    assert measured("x", [1, 0, 0, 0], [3, 1, 0, 0]).figures() == {"MAP": 0.25, "Hit": 0.75}


@pytest.mark.parametrize(
    ("active", "candidate", "verdict"),
    [
        (LOW, HIGH, "better"),
        (HIGH, LOW, "worse"),
        (LOW, LOW, "not different"),
        ([0, 1, 0, 1], [1, 0, 1, 0], "not different"),
    ],
)
def test_the_interval_decides(active: list[float], candidate: list[float], verdict: str) -> None:
    comparison = compare_paired(measured("old", active), measured("new", candidate))
    assert comparison.verdict == verdict
    decisive = comparison.measures["MAP"]
    assert (decisive.first, decisive.second) == pytest.approx((np.mean(active), np.mean(candidate)))
    assert decisive.low <= decisive.difference <= decisive.high
    assert (comparison.candidate, comparison.active, comparison.queries) == ("new@1", "old@1", 4)
    assert PairedComparison.from_json(json.loads(json.dumps(comparison.to_json()))) == comparison


def test_only_the_same_queries_and_measures_are_compared() -> None:
    old, new = measured("old", LOW), measured("new", HIGH)
    other = replace(new, queries=("a", "b", "c", "e"))
    for unlike in (other, replace(new, values={"MAP": new.values["MAP"]})):
        with pytest.raises(RetrievalError):
            compare_paired(old, unlike)
    assert compare_paired(old, new).digest != compare_paired(other, other).digest


TEXTS = ["good one", "bad one", "nobody looked", "good two", "bad two"]
CORPUS = Corpus.of("facts", TEXTS)
JUDGED = Judgements.of_pairs(
    [
        JudgedPair("q", "good one", True),
        JudgedPair("q", "good two", True),
        JudgedPair("q", "bad one", False),
        JudgedPair("q", "bad two", False),
        JudgedPair("only accepted", "good one", True),
        JudgedPair("elsewhere", "a sentence of one's own", True),
        JudgedPair("elsewhere", "bad one", False),
    ]
)


class Scores:
    """An index that gives every query the same scores."""

    def __init__(self, scores: list[float], corpus: Corpus = CORPUS) -> None:
        self.name = "scores"
        self.manifest = Manifest("scores@1", 0, "any", len(corpus), corpus.hash)
        self._scores = np.array(scores, dtype=np.float32)

    def scores(self, queries: Sequence[str]) -> Floats:
        return np.tile(self._scores, (len(queries), 1))

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        raise NotImplementedError


def test_accepted_premises_are_ranked_among_those_judged() -> None:
    # First: good one, nobody looked, bad one, good two, bad two: ranks 1 and 3 of the four judged premises.
    comparison = compare_on_judgements(CORPUS, JUDGED, (Scores([5, 3, 4, 2, 1]), Scores([5, 1, 3, 4, 2])))
    paired = comparison.measures[comparison.primary]
    assert (paired.first, paired.second) == (pytest.approx((1 + 2 / 3) / 2), 1)
    # Only one query has both kinds.
    assert (comparison.queries, comparison.split, comparison.verdict) == (1, "4 judgements", "better")


def test_what_cannot_be_compared_is_refused() -> None:
    index = Scores([1, 2, 3, 4, 5])
    with pytest.raises(DataError):
        compare_on_judgements(CORPUS, Judgements({}), (index, index))
    other = Corpus.of("other", TEXTS[:2])
    with pytest.raises(ManifestMismatchError):
        compare_on_judgements(CORPUS, JUDGED, (index, Scores([1, 2], other)))
