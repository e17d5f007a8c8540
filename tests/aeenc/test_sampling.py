from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from entail.aeenc.sampling import Sample, SampleReport, sample
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree, Step
from entail.errors import ManifestMismatchError, SamplingError
from entail.index.protocol import Hits, Manifest

TEXTS = ("mid", "leaf a", "leaf b", "noise", "other noise", "root")


class Scripted:
    """An index that ranks as it is told: query -> positions, best first."""

    name = "scripted"

    def __init__(self, corpus: Corpus, rankings: dict[str, list[int]]) -> None:
        self.corpus, self.rankings, self.asked = corpus, rankings, []
        self.manifest = Manifest("scripted@1", 0, "inner_product", len(corpus), corpus.hash)

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        self.asked.extend(queries)
        rows = [self.rankings.get(q, list(range(len(self.corpus))))[:k] for q in queries]
        scores = np.tile(np.linspace(1, 0, max(map(len, rows)), dtype=np.float32), (len(rows), 1))
        return Hits(np.array(rows), scores)

    def scores(self, queries: Sequence[str]) -> Any:
        raise NotImplementedError


def corpus() -> Corpus:
    return Corpus.of("small", TEXTS)


def tree() -> ExplanationTree:
    return ExplanationTree(
        id="t",
        hypothesis="root",
        sentences={"sent1": "leaf a", "sent2": "leaf b", "sent3": "noise"},
        intermediates={"int1": "mid"},
        steps=(Step(("sent1", "sent2"), "int1"), Step(("int1", "sent2"), "hypothesis")),
        distractors=("sent3",),
    )


def found(sample_: Sample) -> set[tuple[str, str, bool]]:
    return {(p.query, TEXTS[p.premise], p.positive) for p in sample_.pairs}


def test_what_nobody_judged_is_neither() -> None:
    judgements = Judgements.of_pairs([JudgedPair("root", "mid", True), JudgedPair("root", "noise", False)])
    got = sample(corpus(), judgements, Scripted(corpus(), {}), k=6)
    assert found(got) == {("root", "mid", True), ("root", "noise", False)}
    assert got.report.dropped["unjudged"] == 4


def test_a_query_equal_to_its_positive_is_dropped_and_counted() -> None:
    judgements = Judgements.of_pairs([JudgedPair("root", "root", True), JudgedPair("root", "mid", True)])
    got = sample(corpus(), judgements, Scripted(corpus(), {}), k=6)
    assert found(got) == {("root", "mid", True)}
    assert got.report.dropped["own_text_explains"] == 1


def test_gold_premises_that_the_corpus_lacks_are_counted_and_named() -> None:
    few = Corpus.of("few", ["mid", "leaf a", "noise"])
    report = sample(few, Judgements.of_trees([tree()]), Scripted(few, {}), k=3).report
    assert report.missing == ("leaf b",)  # below two parents, and lost once
    whole = sample(corpus(), Judgements.of_trees([tree()]), Scripted(corpus(), {}), k=3).report
    assert whole.missing == ()


def test_bad_requests_are_named() -> None:
    judgements = Judgements.of_trees([tree()])
    index = Scripted(corpus(), {})
    with pytest.raises(SamplingError, match="and 0"):
        sample(corpus(), judgements, index, k=0)
    with pytest.raises(SamplingError, match="found 0"):
        sample(corpus(), Judgements.of_trees([]), index)
    with pytest.raises(ManifestMismatchError):
        sample(Corpus.of("other", ["x", "y"]), judgements, index)


def test_every_judged_sentence_is_a_query() -> None:
    index = Scripted(corpus(), {"root": [0, 3, 5], "mid": [1, 4, 2]})
    got = sample(corpus(), Judgements.of_trees([tree()]), index, k=3)
    assert sorted(index.asked) == ["mid", "root"]
    assert found(got) == {
        ("root", "mid", True),
        ("root", "noise", False),
        ("root", "root", False),  # its own text, when retrieved, is a hard negative like any other
        ("mid", "leaf a", True),
        ("mid", "other noise", False),
        ("mid", "leaf b", True),
    }
    report = got.report
    assert (report.queries, report.positives, report.negatives, report.without_positive) == (2, 3, 3, 0)
    earlier = {**asdict(report), "depth": 1, "positive_scores": {"p50": 0.5}}
    assert SampleReport.read(earlier) == report
