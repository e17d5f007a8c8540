"""Answers of a server, compared with the library, and the OpenAPI document."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from entail.claims import existence_claim
from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import ServingError
from entail.gausscse.verdict import judge
from entail.index.factory import LEXICAL, retriever
from entail.serving.app import create_app
from entail.serving.client import Client
from entail.serving.messages import EncodeAnswer, Info, Limits, SearchAnswer
from entail.serving.service import Service
from tests.serving.conftest import Served
from tests.support.machine import until

TEXTS = ["ba be bi", "do", "ba  be bi", "mu sa ti ru lo"]
LONG = " ".join(["ba"] * 600)
WAYS: Any = ("entails", "entailed")


def test_encode(served: Served) -> None:
    encoder, towers = BiEncoder("tiny", device="cpu"), ("query", "premise")
    for tower in towers:
        reply = served.post("/encode", texts=TEXTS, encoder="tiny", tower=tower)
        assert reply.status == 200, reply.body
        answer = EncodeAnswer.model_validate_json(reply.body)
        np.testing.assert_allclose(answer.array(), encoder.encode(TEXTS, tower), atol=1e-5)
        assert answer.revision == encoder.revision


def change_form(name: str, **fields: Any) -> None:
    path = resolve(name).path / "entail.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    about["gaussian"] |= fields
    path.write_text(json.dumps(about), encoding="utf-8")


@pytest.mark.parametrize("tanh", [False, True])
def test_encode_gaussians(gaussian: str, serve: Callable[..., Served], tanh: bool) -> None:
    change_form(gaussian, tanh=tanh)
    served = serve(others=[gaussian])
    expected = GaussianEncoder(gaussian).encode(TEXTS)
    plain = served.post("/encode", texts=TEXTS, encoder=gaussian, tower="premise").json  # there is one tower
    assert (plain["encoder"], plain["dimension"]) == (gaussian, 16)
    np.testing.assert_allclose(plain["vectors"], expected.mean, atol=1e-5)
    np.testing.assert_allclose(plain["log_variances"], expected.log_variance, atol=1e-5)
    with Client(served.url) as client:
        gaussians = client.encode_gaussians(TEXTS, encoder=gaussian)
        np.testing.assert_allclose(gaussians.values, expected.values, atol=1e-5)
        for call, encoder in ((client.encode, gaussian), (client.encode_gaussians, "tiny")):
            with pytest.raises(ServingError):
                call(TEXTS, encoder=encoder)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in ("tfidf", "bm25", "tiny", "tiny+bm25")),
        ("tiny", {"reranker": "reader"}),
        ("mine", {"direction": "entails"}),
        ("mine", {"direction": "entailed"}),
    ],
)
def test_search(
    both: Served, grove: dict[str, Any], tmp_path: Path, name: str, options: dict[str, str]
) -> None:
    corpus = Corpus.of("grove", grove["facts"])
    queries = [row["hypothesis"] for row in grove["rows"]][:4]
    answers = {}
    for source in ({"premises": grove["facts"]}, {"corpus": "grove"}):
        reply = both.post("/search", queries=queries, retriever=name, k=7, **source, **options)
        assert reply.status == 200, reply.body
        stored = name not in LEXICAL and "corpus" in source
        assert (tmp_path / "data" / "vectors").exists() == stored
        answers[source.get("corpus")] = SearchAnswer.model_validate_json(reply.body)
    index: Any = retriever(f"{name}+reader" if "reranker" in options else name, corpus)
    way = options.get("direction")
    ways = {} if way is None else {"direction": {"entails": "entailing"}.get(way, way)}
    expected = index.search(queries, k=7, **ways)
    for source_name, answer in answers.items():
        assert [[hit.position for hit in hits] for hits in answer.hits] == expected.positions.tolist()
        scores = [[hit.score for hit in hits] for hits in answer.hits]
        np.testing.assert_allclose(scores, expected.scores, rtol=1e-4, atol=1e-5)
        assert (answer.retriever, answer.revision) == (index.name, index.manifest.revision)
        assert (answer.corpus, answer.count) == (source_name, 40)
        assert (answer.corpus_hash, answer.direction) == (corpus.hash, way)
        best = answer.hits[0][0]
        assert (best.rank, best.text, best.key) == (1, corpus.texts[best.position], premise_key(best.text))


def test_positions_are_those_of_the_request(served: Served) -> None:
    texts = ["ba be", "ba  be", " ba be", "fo fu", "ba be", "lo"]
    with Client(served.url) as client:
        search = client.search(["fo fu", "ba be", "lo"], premises=texts, retriever="tfidf", k=3)
        chain = client.chain("lo", "fo", facts=texts, scorer="tfidf", top=3)
    assert [hits[0].position for hits in search.hits] == [3, 0, 5]
    assert (search.count, chain.count) == (3, 3)
    answered = [*chain.chain, *chain.ranking, *chain.steps[0].candidates]
    assert {(fact.position, fact.text) for fact in answered} == {(0, "ba be"), (3, "fo fu"), (5, "lo")}


def test_info_and_defaults_of_a_search(both: Served, grove: dict[str, Any]) -> None:
    fields: Any = {"queries": [f" {grove['facts'][3]} "], "corpus": "grove", "k": 5}
    with Client(both.url) as client:
        answers = [client.search(**fields), client.search(**fields, direction="entails")]
    assert [(a.retriever, a.direction) for a in answers] == [("tiny", None), ("mine", "entails")]
    assert [a.hits[0][0].text for a in answers] == [grove["facts"][3]] * 2
    assert [hit.rank for hit in answers[0].hits[0]] == [1, 2, 3, 4, 5]
    info = Info.model_validate_json(both.send("GET", "/info").body)
    encoders = {encoder.name: (encoder.gaussian, encoder.dimension) for encoder in info.encoders}
    assert encoders == {"tiny": (False, 16), "mine": (True, 16)}
    assert (info.encoders[0].revision, info.encoders[0].loaded) == (BiEncoder("tiny").revision, True)
    assert info.retrievers == [*LEXICAL, "tiny", "mine", "tiny+bm25"]
    assert [(corpus.name, corpus.count, corpus.active) for corpus in info.corpora] == [("grove", 40, "tiny")]
    assert (info.limits, info.device, info.rerankers) == (asdict(Limits()), "cpu", ["reader"])


@pytest.mark.parametrize("form", [{}, {"threshold": 0.1, "entailment": {"slope": 1.0, "intercept": -9.0}}])
def test_direction(gaussian: str, serve: Callable[..., Served], form: dict[str, Any]) -> None:
    change_form(gaussian, **form)
    first, second = ["ba be bi", "fo fu", LONG, LONG], ["ba", "fo fu", "be", LONG]
    expected = judge(GaussianEncoder(gaussian), first, second)
    with Client(serve(others=[gaussian]).url) as client:
        answer = client.direction(first, second)
        hits = [client.search(["ba"], premises=["ba be bi"], direction=way).hits[0] for way in WAYS]
    assert (answer.encoder, answer.revision) == (gaussian, resolve(gaussian).revision)
    assert answer.threshold == form.get("threshold", 0.5)
    assert [(pair.says, pair.sure) for pair in answer.pairs] == [(v.says, v.sure) for v in expected]
    assert [pair.truncated for pair in answer.pairs] == [(), (), ("first",), ("first", "second")]
    for name in ("forward", "backward", "margin", "direction"):
        values = [getattr(verdict, name) for verdict in expected]
        np.testing.assert_allclose([getattr(p, name) for p in answer.pairs], values, rtol=1e-3, atol=1e-5)
    # `forward` is sim(second || first): how much the first entails the second.
    scores = [answer.pairs[0].forward, answer.pairs[0].backward]
    assert [row[0].score for row in hits] == pytest.approx(scores, rel=1e-3)


def test_claims_and_heads_of_answers(served: Served) -> None:
    questions = ["When did Rome win?", "who plays the mom on modern family", "谁写了红楼梦"]
    with Client(served.url) as client:
        records = client.claim(questions).claims
        (stated,) = client.claim(questions[:1], answers=["202 BC"]).claims
    claims = list(map(existence_claim, questions))
    assert [(r.question, r.claim, r.rule) for r in records] == [(c.question, c.text, c.rule) for c in claims]
    assert [record.fallback for record in records] == [False, False, True]
    assert (records[0].statement, stated.statement) == (None, "Rome won in 202 BC.")
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


GET = {200, 400, 429, 500, 503}
POST = {*GET, 401, 404, 408, 413, 415, 422, 504}
STATUSES = {
    **dict.fromkeys((f"/{name}" for name in ("encode", "search", "direction", "claim", "chain")), POST),
    "/health": GET,
    "/health/ready": GET,
    "/info": {*GET, 401, 504},
    "/metrics": {*GET, 401, 504},
}


def test_operations_and_schemas() -> None:
    document = create_app(Service([])).openapi()
    assert set(document["paths"]) == set(STATUSES)
    for path, methods in document["paths"].items():
        ((method, operation),) = methods.items()
        assert method == ("post" if STATUSES[path] is POST else "get")
        assert operation["summary"]
        assert operation["description"]
        assert operation["operationId"] == path.removeprefix("/").replace("/", "_")
        assert {int(status) for status in operation["responses"]} == STATUSES[path]
        assert ("security" in operation) == (not path.startswith("/health"))
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
