"""Answers of a server, compared with the library."""

import base64
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import BaseModel

from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.encoders.encoder import BiEncoder
from entail.index.factory import LEXICAL, retriever
from entail.serving.admission import ApiRoute
from entail.serving.messages import EncodeAnswer, Info, Limits, SearchAnswer
from entail.serving.service import Service, ServiceDep
from tests.serving.conftest import Served, until

TEXTS = ["ba be bi", "do", "ba  be bi", "mu sa ti ru lo"]


def vectors(reply: Any) -> np.ndarray:
    assert reply.status == 200, reply.body
    return EncodeAnswer.model_validate_json(reply.body).array()


@pytest.mark.parametrize("tower", ["query", "premise"])
def test_encode(served: Served, tower: Any) -> None:
    expected = BiEncoder("tiny", device="cpu").encode(TEXTS, tower)
    reply = served.post("/encode", texts=TEXTS, encoder="tiny", tower=tower)
    np.testing.assert_allclose(vectors(reply), expected, atol=1e-5)
    assert reply.json["revision"] == BiEncoder("tiny").revision
    packed = served.post("/encode", texts=TEXTS, tower=tower, format="base64")
    assert len(base64.b64decode(packed.json["vectors"])) == 4 * expected.size
    np.testing.assert_allclose(vectors(packed), expected, atol=1e-5)


def test_vectors_without_normalisation(served: Served) -> None:
    plain = vectors(served.post("/encode", texts=TEXTS, normalised=False))
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    assert abs(lengths - 1).min() > 0.05
    np.testing.assert_allclose(plain / lengths, BiEncoder("tiny").encode_queries(TEXTS), atol=1e-5)


@pytest.mark.parametrize("name", ["tfidf", "bm25", "tiny", "tiny+bm25", "tiny+ngrams"])
@pytest.mark.parametrize("inline", [False, True])
def test_search(served: Served, grove: dict[str, Any], tmp_path: Path, name: str, inline: bool) -> None:
    corpus = Corpus.of("grove", grove["facts"])
    queries = [row["hypothesis"] for row in grove["rows"]][:4]
    source = {"premises": grove["facts"]} if inline else {"corpus": "grove"}
    reply = served.post("/search", queries=queries, retriever=name, k=7, **source)
    assert reply.status == 200, reply.body
    assert (tmp_path / "data" / "vectors").exists() == (name.startswith("tiny") and not inline)
    answer = SearchAnswer.model_validate_json(reply.body)
    expected = retriever(name, corpus).search(queries, k=7)
    assert [[hit.position for hit in hits] for hits in answer.hits] == expected.positions.tolist()
    scores = [[hit.score for hit in hits] for hits in answer.hits]
    np.testing.assert_allclose(scores, expected.scores, atol=1e-5)
    assert (answer.corpus, answer.count) == (None if inline else "grove", 40)
    assert answer.corpus_hash == corpus.hash
    best = answer.hits[0][0]
    if name == "tiny":  # the default is the active encoder
        assert served.post("/search", queries=queries, k=7, **source).json == reply.json
    assert (best.rank, best.text, best.key) == (1, corpus.texts[best.position], premise_key(best.text))


def test_search_without_the_own_text(served: Served, grove: dict[str, Any]) -> None:
    own = grove["facts"][3]
    fields = {"queries": [f" {own} "], "corpus": "grove", "k": 5}
    with_own = [hit["text"] for hit in served.post("/search", **fields).json["hits"][0]]
    without = served.post("/search", **fields, exclude_own=True).json["hits"][0]
    assert with_own[0] == own
    assert [hit["text"] for hit in without][:4] == with_own[1:]
    assert [hit["rank"] for hit in without] == [1, 2, 3, 4, 5]


def test_replaced_encoder_is_loaded_again(
    tiny_home: Path, trained: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entail.serving.service.CATALOGUE_SECONDS", 0.0)
    service = Service()
    assert "mine" not in service.entries()
    trained("mine")
    before = service.encoder("mine")
    assert service.encoder("mine") is before
    config = before.entry.path / "adapter_config.json"
    config.write_text(config.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert service.encoder("mine").revision != before.revision
    service.close()


def test_an_index_that_failed_is_built_at_the_next_request(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from entail.runtime import models as module

    build, failures = module.retriever, [MemoryError("no room")]

    def fail_once(*arguments: Any, **options: Any) -> Any:
        if failures:
            raise failures.pop()
        return build(*arguments, **options)

    monkeypatch.setattr(module, "retriever", fail_once)
    fields = {"queries": ["ice"], "corpus": "grove", "k": 1, "retriever": "tfidf"}
    assert [served.post("/search", **fields).status for _ in range(2)] == [500, 200]


def test_info(served: Served) -> None:
    info = Info.model_validate_json(served.send("GET", "/info").body)
    (encoder,) = info.encoders
    assert (encoder.name, encoder.revision, encoder.loaded) == ("tiny", BiEncoder("tiny").revision, True)
    assert info.retrievers == [*LEXICAL, "tiny", "tiny+ngrams", "tiny+bm25"]
    assert [(corpus.name, corpus.count, corpus.active) for corpus in info.corpora] == [("grove", 40, "tiny")]
    assert info.limits == asdict(Limits())
    assert info.device == "cpu"


def test_the_head_of_an_answer(served: Served) -> None:
    for path in ("/health", "/health/ready", "/info", "/claim", "/nothing"):
        head, answer = served.send("HEAD", path), served.send("GET", path)
        assert (head.status, head.body) == (answer.status, b""), path
        assert head.headers["content-length"] == answer.headers["content-length"]


@pytest.mark.parametrize("fault", [None, RuntimeError("/secret/place")])
def test_health_before_ready(
    serve: Callable[..., Served], caplog: pytest.LogCaptureFixture, fault: Exception | None
) -> None:
    served = serve(ready=False)
    assert served.send("GET", "/health").json["live"] is True
    reply = served.send("GET", "/health/ready")
    assert (reply.status, reply.json["ready"]) == (503, False)
    served.encoder.fault = fault
    served.release()
    until(lambda: served.service.reason != reply.json["reason"])
    later = served.send("GET", "/health/ready")
    assert (later.status, later.json["ready"]) == ((503, False) if fault else (200, True))
    assert "/secret" not in later.body.decode()
    assert ("/secret/place" in caplog.text) == (fault is not None)


class Count(BaseModel):
    words: list[str]


@pytest.mark.parametrize("route", [APIRoute, ApiRoute])
def test_additional_router(serve: Callable[..., Served], route: type[APIRoute]) -> None:
    router = APIRouter(route_class=route)

    @router.post("/count")
    async def count(request: Count, service: ServiceDep) -> dict[str, int]:
        if not request.words:
            raise RuntimeError("/secret/place")
        return {"count": len(request.words)}

    served = serve(routers=[router])
    assert served.post("/count", words=["a", "b"]).json == {"count": 2}
    assert served.post("/count", words=3).error["field"] == "words"
    failed = served.post("/count", words=[])
    assert (failed.status, failed.error["kind"]) == (500, "internal")
    assert "secret" not in failed.body.decode()
