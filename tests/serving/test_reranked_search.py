"""Lists that are re-ranked over HTTP, compared with the library."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.data.records import Corpus
from entail.index.factory import retriever
from entail.serving.messages import RERANKED
from tests.serving.conftest import Served


@pytest.fixture
def reader(write_reranker: Callable[..., Path]) -> str:
    return write_reranker("reader", depth=5).name


@pytest.mark.parametrize("inline", [False, True])
def test_hits_are_those_of_the_library(
    reader: str, serve: Callable[..., Served], grove: dict[str, Any], inline: bool
) -> None:
    served = serve()
    corpus, queries = Corpus.of("grove", grove["facts"]), [row["hypothesis"] for row in grove["rows"]][:3]
    source = {"premises": grove["facts"]} if inline else {"corpus": "grove"}
    reply = served.post("/search", queries=queries, retriever="tiny", reranker=reader, k=7, **source)
    assert reply.status == 200, reply.body
    index = retriever(f"tiny+{reader}", corpus)
    expected = index.search(queries, k=7)
    answer = reply.json
    assert [[hit["position"] for hit in hits] for hits in answer["hits"]] == expected.positions.tolist()
    assert (answer["retriever"], answer["revision"]) == (index.name, index.manifest.revision)
    assert reader in served.send("GET", "/info").json["rerankers"]


def test_what_cannot_be_reranked_is_refused(reader: str, serve: Callable[..., Served]) -> None:
    served = serve()
    many = served.post("/search", queries=["ba"] * (RERANKED + 1), premises=["be"], reranker=reader)
    assert (many.error["kind"], many.error["field"]) == ("too_many", "queries")
    both = served.post("/search", queries=["ba"], premises=["be"], reranker=reader, direction="entails")
    assert both.error["field"] == "reranker"
    unknown = served.post("/search", queries=["ba"], premises=["be"], retriever="tiny", reranker="nobody")
    assert (unknown.status, unknown.error["kind"]) == (404, "unknown_encoder")
