"""Search in a direction of entailment over HTTP, compared with the library."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.index.factory import retriever
from entail.index.gaussian import GaussianIndex
from entail.serving.client import Client
from tests.serving.conftest import Served

WAYS: Any = {"entails": "entailing", "entailed": "entailed"}


@pytest.fixture
def both(gaussian: str, serve: Callable[..., Served]) -> Served:
    """A server of points, `tiny`, and of Gaussians, `mine`."""
    return serve(others=[gaussian])


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("inline", [False, True])
def test_hits_and_scores(both: Served, grove: dict[str, Any], way: Any, inline: bool) -> None:
    queries = [row["hypothesis"] for row in grove["rows"]][:4]
    source: Any = {"premises": grove["facts"]} if inline else {"corpus": "grove"}
    with Client(both.url) as client:
        answer = client.search(queries, direction=way, k=7, **source)
    assert (answer.retriever, answer.direction, answer.count) == ("mine", way, 40)
    assert answer.revision == GaussianEncoder("mine").revision
    index = retriever("mine", Corpus.of("grove", grove["facts"]))
    assert isinstance(index, GaussianIndex)
    expected = index.search(queries, k=7, direction=WAYS[way])
    assert [[hit.position for hit in hits] for hits in answer.hits] == expected.positions.tolist()
    np.testing.assert_allclose(
        [[hit.score for hit in hits] for hits in answer.hits], expected.scores, rtol=1e-4
    )


def test_defaults_and_the_own_text(both: Served, grove: dict[str, Any]) -> None:
    own: Any = {"queries": [grove["facts"][3]], "corpus": "grove", "k": 3}
    with Client(both.url) as client:
        plain = client.search(**own)
        assert (plain.retriever, plain.direction) == ("tiny", None)
        named = client.search(**own, retriever="mine")
        assert named == client.search(**own, direction="entails")
        # Nothing is nearer to a Gaussian than itself.
        assert (named.hits[0][0].text, named.hits[0][0].score) == (grove["facts"][3], 1.0)
        without = client.search(**own, direction="entails", exclude_own=True)
    assert [hit.text for hit in without.hits[0]][:2] == [hit.text for hit in named.hits[0]][1:]


@pytest.mark.parametrize("way", list(WAYS))
def test_scores_equal_those_of_direction(both: Served, way: Any) -> None:
    query, premise = "ba be bi", "fo fu"
    with Client(both.url) as client:
        (hit,) = client.search([query], premises=[premise], direction=way).hits[0]
        (verdict,) = client.direction([premise], [query]).pairs
    # `forward` is sim(second || first): how much the first entails the second.
    expected = verdict.forward if way == "entails" else verdict.backward
    assert hit.score == pytest.approx(expected, rel=1e-3)


def test_without_an_encoder_of_gaussians(served: Served) -> None:
    reply = served.post("/search", queries=["ba"], corpus="grove", direction="entails")
    assert (reply.status, reply.error["kind"]) == (404, "unknown_encoder")
