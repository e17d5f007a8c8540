"""Comparison of retrievers on judgements."""

from collections.abc import Sequence

import numpy as np
import pytest

from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus
from entail.errors import DataError, ManifestMismatchError
from entail.evaluation.retrieval.judged import JudgedQueries, compare_on_judgements, judged_precision
from entail.index.protocol import Floats, Hits, Manifest

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


def test_only_queries_with_both_kinds_count() -> None:
    judged = JudgedQueries.of(CORPUS, JUDGED)
    assert (judged.texts, judged.judged) == (("q",), 4)


def test_premises_that_nobody_judged_take_no_rank() -> None:
    judged = JudgedQueries.of(CORPUS, JUDGED)
    # good one, nobody looked, bad one, good two, bad two: ranks 1 and 3 of the four judged premises
    assert judged_precision(judged, Scores([5, 3, 4, 2, 1])) == pytest.approx([(1 + 2 / 3) / 2])


def test_the_one_that_ranks_accepted_premises_higher_is_ahead() -> None:
    comparison = compare_on_judgements(CORPUS, JUDGED, (Scores([1, 5, 3, 2, 4]), Scores([5, 1, 3, 4, 2])))
    paired = comparison.measures[comparison.primary]
    assert (paired.second, paired.better, comparison.queries, comparison.verdict) == (1, 1, 1, "better")


def test_errors_name_what_is_missing() -> None:
    index = Scores([1, 2, 3, 4, 5])
    with pytest.raises(DataError, match="facts"):
        compare_on_judgements(CORPUS, Judgements({}), (index, index))
    other = Corpus.of("other", TEXTS[:2])
    with pytest.raises(ManifestMismatchError):
        compare_on_judgements(CORPUS, JUDGED, (index, Scores([1, 2], other)))
