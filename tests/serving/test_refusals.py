"""Requests that are refused: 4xx with a kind and a field, the server alive; tests/attack generates others."""

import contextlib
import gzip
import json
import logging
import socket
from collections.abc import Callable
from typing import Any

import pytest

from tests.serving.conftest import JSON, SOON, TOKEN, Reply, Served

GOOD = {
    "/encode": {"texts": ["ba"]},
    "/search": {"queries": ["ba"], "premises": ["be", "bi"], "retriever": "tfidf"},
    "/direction": {"first": ["ba"], "second": ["be"]},
    "/claim": {"questions": ["who won"]},
    "/chain": {"facts": ["be", "bi"], "question": "ba", "answer": "be", "scorer": "tfidf"},
}
FIELDS = [
    ("/encode", {"texts": []}, 422, "invalid", "texts"),
    ("/encode", {"texts": [3]}, 422, "invalid", "texts.0"),
    ("/encode", {"texts": ["ba", " \u2060\u00ad"]}, 422, "invalid", "texts.1"),
    ("/encode", {"texts": ["ba"] * 257}, 422, "too_many", "texts"),
    ("/encode", {"texts": ["x" * 10_001]}, 422, "too_long", "texts.0"),
    ("/encode", {"encoder": "../../etc/passwd"}, 404, "unknown_encoder", None),
    ("/encode", {"y" * 5_000: 1}, 422, "invalid", "y" * 60),
    ("/search", {"k": 10**400}, 422, "too_many", "k"),
    ("/search", {"queries": ["ba"] * 41, "k": 500}, 422, "too_many", "k"),
    ("/search", {"premises": ["ba"] * 2_001}, 422, "too_many", "premises"),
    ("/search", {"corpus": "grove"}, 422, "invalid", "corpus"),
    ("/search", {"premises": None, "corpus": "'; DROP TABLE corpora; --"}, 404, "unknown_corpus", "corpus"),
    ("/search", {"retriever": "org/model"}, 404, "unknown_encoder", "retriever"),
    ("/search", {"retriever": "tiny", "direction": "entails"}, 422, "invalid", "direction"),
    ("/search", {"reranker": "none", "queries": ["ba"] * 17}, 422, "too_many", "queries"),
    ("/search", {"reranker": "none", "direction": "entails"}, 422, "invalid", "reranker"),
    ("/direction", {"second": ["ba", "be"]}, 422, "invalid", "second"),
    ("/direction", {"encoder": "tiny"}, 422, "invalid", "encoder"),
    ("/claim", {"answers": ["Rome", "Paris"]}, 422, "invalid", "answers"),
    ("/chain", {"scorer": "tiny"}, 404, "unknown_encoder", None),
]
BODIES = {
    "empty": (b"", 422, "invalid"),
    "not JSON": (b"{'texts'}", 400, "bad_json"),
    "brackets": (b"[" * 100_000, 400, "bad_json"),
    "NaN": (b'{"texts": NaN}', 400, "bad_json"),
    "surrogate": (b'{"texts": ["\\ud800"]}', 400, "bad_json"),
    "not UTF-8": (b'{"texts": ["\x80"]}', 400, "bad_json"),
    "no object": (b"null", 422, "invalid"),
}
GOOD_BODY = json.dumps(GOOD["/encode"]).encode()
FORMS: list[tuple[str, str, bytes | None, dict[str, str], int, str]] = [
    *(("POST", "/encode", body, JSON, status, kind) for body, status, kind in BODIES.values()),
    ("POST", "/encode", GOOD_BODY, {"Content-Type": "text/plain"}, 415, "media_type"),
    ("POST", "/encode", gzip.compress(b"0" * 10**7), {**JSON, "Content-Encoding": "gzip"}, 415, "media_type"),
    ("POST", "/encode", b'{"texts": ["' + b"x" * 2**21 + b'"]}', JSON, 413, "too_large"),
    ("GET", "/encode", None, {}, 405, "method"),
    ("POST", "/encode/", GOOD_BODY, JSON, 404, "not_found"),
    ("GET", "/docs", None, {}, 404, "not_found"),
]


def test_fields_and_forms(both: Served) -> None:
    for path, fields, *expected in FIELDS:
        reply = both.post(path, **GOOD[path] | fields)
        assert [reply.status, reply.error["kind"], reply.error.get("field")] == expected, (path, fields)
        assert len(reply.body) < 2_000
    for method, path, body, headers, *expected in FORMS:
        reply = both.send(method, path, body, headers)
        assert [reply.status, reply.error["kind"]] == expected, (path, body, reply)
        assert "Traceback" not in reply.body.decode()
    assert both.post("/encode", **GOOD["/encode"]).status == 200


HEAD = b"POST /encode HTTP/1.1\r\nHost: x\r\n"
HTTP = [
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"POST /encode HTTP/9.9\r\n\r\n",
    HEAD + b"Content-Length: -1\r\n\r\n",
    HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    HEAD + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
]


def test_malformed_http_and_large_bodies(served: Served) -> None:
    for raw in HTTP:
        with socket.create_connection(("127.0.0.1", served.port), timeout=SOON) as connection:
            answer = b""
            with contextlib.suppress(OSError):  # the server may close before all is sent
                connection.sendall(raw)
                connection.shutdown(socket.SHUT_WR)
                while chunk := connection.recv(65_536):
                    answer += chunk
        assert b"200 OK" not in answer
        assert b"Traceback" not in answer
        assert served.send("GET", "/health").status == 200
    # Bodies that are too large are refused unread, chunked ones before they end.
    for length in (b"Content-Length: 1000000000", b"Transfer-Encoding: chunked"):
        with socket.create_connection(("127.0.0.1", served.port), timeout=SOON) as connection:
            connection.sendall(HEAD + b"Content-Type: application/json\r\n" + length + b"\r\n\r\n")
            if b"chunked" in length:
                for _ in range(10):
                    connection.sendall(b"40000\r\n" + b"x" * 2**18 + b"\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 413")


def test_without_an_encoder_of_gaussians(served: Served) -> None:
    for path, fields in (("/direction", {}), ("/search", {"retriever": None, "direction": "entails"})):
        reply = served.post(path, **GOOD[path] | fields)
        assert (reply.status, reply.error["kind"]) == (404, "unknown_encoder")


def test_token(serve: Callable[..., Served], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    served = serve(token=TOKEN)
    wrong = ["", "Bearer", "Bearer no", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer caf\xe9"]

    def ask(method: str, path: str, authorization: str) -> Reply:
        return served.send(method, path, b"[" if method == "POST" else None, {"Authorization": authorization})

    for method, path in [("POST", "/encode"), ("GET", "/info"), ("GET", "/openapi.json"), ("GET", "/x")]:
        for authorization in wrong:
            reply = ask(method, path, authorization)
            assert (reply.status, reply.error["kind"]) == (401, "unauthorized")
            assert reply.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in reply.body.decode()
    assert ask("GET", "/health", "").status == 200
    assert ask("GET", "/info", f"Bearer {TOKEN}").status == 200
    assert TOKEN not in caplog.text


def test_unexpected_error_hides_its_message(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    served.encoder.fault = RuntimeError("at /secret/place/weights")
    reply: Any = served.post("/encode", texts=["ba"])
    assert (reply.status, reply.error["kind"]) == (500, "internal")
    assert "secret" not in reply.body.decode()
    assert reply.error["message"].split()[-1] in caplog.text
    assert "/secret/place/weights" in caplog.text
