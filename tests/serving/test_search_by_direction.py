"""Search in a direction of entailment over HTTP, compared with the library and plain formulas."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.encoders.gaussian.distributions import Gaussians, similarity
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import ServingError
from entail.index.factory import LEXICAL, retriever
from entail.index.gaussian import GaussianIndex
from entail.index.lifted import LiftedGaussians
from entail.serving.client import Client
from entail.serving.messages import SearchAnswer
from tests.serving.conftest import SOON, Served

WAYS: Any = {"entails": "entailing", "entailed": "entailed"}


@pytest.fixture
def both(gaussian: str, serve: Callable[..., Served]) -> Served:
    """A server of points, `tiny`, and of Gaussians, `mine`."""
    return serve(others=[gaussian])


def found_by(served: Served, **fields: Any) -> SearchAnswer:
    reply = served.post("/search", **fields)
    assert reply.status == 200, reply.body
    return SearchAnswer.model_validate_json(reply.body)


def by_hand(query: str, texts: list[str], way: str) -> np.ndarray:
    """Return sim(query || premise), or the other way about, of every pair by the definition: kl_mean."""
    gaussians = GaussianEncoder("mine", device="cpu").encode([query, *texts])
    mean, log = gaussians.mean.astype(np.float64), gaussians.log_variance.astype(np.float64)
    # As premises are kept.
    mean[1:], log[1:] = mean[1:].astype(np.float16), log[1:].astype(np.float16)
    first, rest = (mean[:1], log[:1]), (mean[1:], log[1:])
    (m1, l1), (m2, l2) = (first, rest) if way == "entails" else (rest, first)
    terms = l2 - l1 + (np.exp(l1) + (m1 - m2) ** 2) / np.exp(l2) - 1
    return np.asarray(1 / (1 + terms.sum(axis=1) / 2 / mean.shape[1]))


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("inline", [False, True])
def test_hits_and_scores(both: Served, grove: dict[str, Any], way: str, inline: bool) -> None:
    corpus = Corpus.of("grove", grove["facts"])
    queries = [row["hypothesis"] for row in grove["rows"]][:4]
    source = {"premises": grove["facts"]} if inline else {"corpus": "grove"}
    answer = found_by(both, queries=queries, retriever="mine", direction=way, k=7, **source)
    assert (answer.retriever, answer.direction, answer.count) == ("mine", way, 40)
    assert answer.revision == GaussianEncoder("mine").revision
    index = retriever("mine", corpus)
    assert isinstance(index, GaussianIndex)
    expected = index.search(queries, k=7, direction=WAYS[way])
    assert [[hit.position for hit in hits] for hits in answer.hits] == expected.positions.tolist()
    for query, hits in zip(queries, answer.hits, strict=True):
        scores = by_hand(query, list(corpus.texts), way)
        assert [hit.position for hit in hits] == np.argsort(-scores, kind="stable")[:7].tolist()
        np.testing.assert_allclose([hit.score for hit in hits], np.sort(scores)[::-1][:7], rtol=1e-4)
        assert [hit.text for hit in hits] == [corpus.texts[hit.position] for hit in hits]


def test_defaults(both: Served) -> None:
    assert found_by(both, queries=["ba"], corpus="grove", direction="entailed").retriever == "mine"
    plain = found_by(both, queries=["ba"], corpus="grove")
    assert (plain.retriever, plain.direction) == ("tiny", None)
    named: Any = {"queries": ["ba"], "corpus": "grove", "retriever": "mine"}
    assert found_by(both, **named) == found_by(both, direction="entails", **named)


def test_client(both: Served, grove: dict[str, Any]) -> None:
    own = grove["facts"][3]
    with Client(both.url) as client:
        assert client.info().retrievers == [*LEXICAL, "tiny", "mine", "tiny+ngrams", "tiny+bm25"]
        answer = client.search([own], corpus="grove", retriever="mine", direction="entailed", k=3)
        # Nothing is nearer to a Gaussian than itself.
        assert (answer.hits[0][0].text, answer.hits[0][0].score) == (own, 1.0)
        without = client.search([own], corpus="grove", direction="entailed", k=3, exclude_own=True)
        assert [hit.text for hit in without.hits[0]][:2] == [hit.text for hit in answer.hits[0]][1:]
        with pytest.raises(ServingError, match="'tiny'") as caught:
            client.search(["ba"], corpus="grove", retriever="tiny", direction="entails")
        assert (caught.value.status, caught.value.field) == (422, "direction")


def test_without_an_encoder_of_gaussians(served: Served) -> None:
    reply = served.post("/search", queries=["ba"], corpus="grove", direction="entails")
    assert reply.status == 404
    assert "entail train gausscse" in reply.error["message"]
    reply = served.post("/search", queries=["ba"], corpus="grove", direction="entails", retriever="tiny")
    assert reply.error["field"] == "direction"


def test_directions_share_the_premise_vectors(both: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[tuple[str, str]] = []
    begin = LiftedGaussians.__init__

    def noted(self: LiftedGaussians, premises: Gaussians, direction: Any) -> None:
        builds.append((direction, threading.current_thread().name))
        begin(self, premises, direction)

    monkeypatch.setattr(LiftedGaussians, "__init__", noted)
    fields: Any = {"queries": ["ba be"], "corpus": "grove", "retriever": "mine"}
    for way in (None, "entailed", "entails", "entailed"):
        assert both.post("/search", **fields, direction=way).status == 200
    assert [way for way, _ in builds] == ["entailing", "entailed"]
    assert all(name.startswith("build index") for _, name in builds)
    indexes = [future.result(SOON) for future in both.service.library._indexes.values()]
    assert len(indexes) == 2
    assert indexes[0] is indexes[1]


@pytest.mark.parametrize("way", list(WAYS))
def test_scores_equal_those_of_direction(both: Served, way: str) -> None:
    query, premise = "ba be bi", "fo fu"
    answer = found_by(both, queries=[query], premises=[premise], direction=way)
    verdict = both.post("/direction", first=[premise], second=[query]).json["pairs"][0]
    # `forward` is sim(second || first): how much the first entails the second.
    expected = verdict["forward" if way == "entails" else "backward"]
    assert answer.hits[0][0].score == pytest.approx(expected, rel=1e-3)
    query_gaussian, premise_gaussian = GaussianEncoder("mine").encode_pairs([query], [premise])
    pair = (query_gaussian, premise_gaussian) if way == "entails" else (premise_gaussian, query_gaussian)
    assert answer.hits[0][0].score == pytest.approx(similarity(*pair, kind="kl_mean")[0], rel=1e-3)
