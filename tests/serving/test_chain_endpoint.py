"""Chains of facts, over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from entail.arcf.chains.chain import NearestSteps, Search, corpus_facts, follow, score_step
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.data.records import Corpus
from entail.data.worldtree.questions import Question
from entail.serving.client import Client
from tests.serving.conftest import Served


def test_tfidf_chain(served: Served, grove: dict[str, Any]) -> None:
    around = Neighbourhoods(corpus_facts(Corpus.of("grove", grove["facts"])), k=7)
    hypothesis = Question("question", grove["rows"][0]["hypothesis"], "ba", {})
    near = around.of_text(hypothesis.text)
    walk = follow(
        lambda facts: score_step(hypothesis, near, facts, NearestSteps(around), around),
        Search(length=4, least=3),
    )
    options: Any = {"k": 7, "length": 4, "top": 9, "candidates": 2}
    with Client(served.url) as client:
        answer = client.chain(hypothesis.stem, "ba", corpus="grove", **options)
        inline = client.chain(hypothesis.stem, "ba", facts=grove["facts"], **options)
    assert [fact.position for fact in answer.chain] == list(walk.facts)
    assert [fact.position for fact in answer.ranking] == walk.ranking(hypothesis, around)[:9].tolist()
    assert (answer.scorer, answer.revision, answer.method) == ("tfidf", None, "tfidf")
    assert answer.stopped == "length"
    assert [(len(step.candidates), step.bare) for step in answer.steps] == [(2, None)] * 4
    assert [step.visible for step in answer.steps] == [len(step.candidates) for step in walk.steps]
    assert answer.steps[1].candidates[0].score == pytest.approx(walk.steps[1].scores[0], abs=1e-6)
    assert (answer.corpus, answer.corpus_version, answer.count) == ("grove", 1, 40)
    assert (inline.corpus, inline.corpus_version, inline.chain) == (None, None, answer.chain)


def score(prefix: list[str], candidate: list[str]) -> float:
    """Score a fact the higher the longer it is; two are enough."""
    return float(len("".join(candidate))) if candidate else 100.0 * (sum("." in w for w in prefix) > 2)


def test_scorer(install_scorer: Callable[..., Any], served: Served) -> None:
    scorer, facts = install_scorer(score), ["ba be", "ba be bi bo", "ba be bi bo bu da"]
    with Client(served.url) as client:
        assert client.info().scorers == ["mine"]
        answer = client.chain("ba", "be", facts=facts, least=0)
        assert [fact.text for fact in answer.chain] == facts[:0:-1]
        assert (answer.scorer, answer.revision, answer.method) == ("mine", "mine@1", "arcf")
        assert answer.stopped == "bare prefix"
        assert [step.chosen for step in answer.steps] == [*(fact.key for fact in answer.chain), None]
        assert [step.bare for step in answer.steps] == [0.0, 0.0, 100.0]
        assert (answer.dropped, answer.question_cut) == (0, False)
        assert client.chain("ba", "be", facts=facts, scorer="tfidf").scorer == "tfidf"
    scorer.pairs.by = lambda prefix, candidate: float("nan")
    reply = served.post("/chain", question="ba", answer="be", facts=["ba"])
    assert (reply.status, reply.error["kind"]) == (500, "internal")
