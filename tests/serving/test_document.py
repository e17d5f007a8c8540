"""The OpenAPI document: valid, whole, and kept to."""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from entail.serving.app import create_app
from entail.serving.library import Library
from entail.serving.service import Service
from tests.serving.conftest import Served


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Service(Library([]))).openapi()


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    found = set(references(document))
    assert found
    for reference in found:
        kind, name = re.fullmatch(r"#/components/(\w+)/(\w+)", reference).groups()  # type: ignore[union-attr]  # else it fails here
        assert name in document["components"][kind]


def test_every_schema_is_one(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


ALL = {400, 429, 500, 503}
POST = {*ALL, 401, 404, 408, 413, 415, 422, 504}
ERRORS = {
    ("/encode", "post"): POST,
    ("/search", "post"): POST,
    ("/direction", "post"): POST,
    ("/claim", "post"): POST,
    ("/chain", "post"): POST,
    ("/health", "get"): ALL,
    ("/health/ready", "get"): ALL,
    ("/info", "get"): {*ALL, 401, 504},
}


def test_every_request_is_there_with_every_way_to_fail(document: dict[str, Any]) -> None:
    operations = {
        (path, method): found
        for path, methods in document["paths"].items()
        for method, found in methods.items()
    }
    assert set(operations) == set(ERRORS)
    for (path, method), operation in operations.items():
        assert operation["summary"]
        assert operation["description"]
        responses = {int(status): response for status, response in operation["responses"].items()}
        assert set(responses) == {200, *ERRORS[path, method]}
        for status in ERRORS[path, method]:
            expected = "Health" if path == "/health/ready" and status == 503 else "ErrorReply"
            schema = responses[status]["content"]["application/json"]["schema"]
            assert schema["$ref"].endswith(f"/{expected}")
        assert ("security" in operation) == (not path.startswith("/health"))
    ids = [operation["operationId"] for operation in operations.values()]
    assert len(ids) == len(set(ids))
    assert {"encode", "health_ready"} <= set(ids)
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_every_field_of_a_request_is_explained(document: dict[str, Any]) -> None:
    for name in ("EncodeRequest", "SearchRequest", "ClaimRequest", "ChainRequest"):
        schema = document["components"]["schemas"][name]
        assert schema["additionalProperties"] is False
        unexplained = {k for k, field in schema["properties"].items() if "description" not in field}
        assert unexplained <= {"queries"}


@pytest.mark.parametrize(
    ("method", "path", "fields"),
    [
        ("post", "/encode", {"texts": ["ba"]}),
        ("post", "/encode", {"texts": ["ba"], "format": "base64"}),
        ("post", "/encode", {"texts": ["ba"], "normalised": False}),
        ("post", "/encode", {"texts": []}),
        ("post", "/search", {"queries": ["ba"], "corpus": "grove", "retriever": "bm25"}),
        ("post", "/search", {"queries": ["ba"], "corpus": "nowhere"}),
        ("post", "/search", {"queries": ["ba"], "corpus": "grove", "direction": "entails"}),
        ("get", "/health", None),
        ("get", "/health/ready", None),
        ("get", "/info", None),
        ("post", "/direction", {"first": ["ba"], "second": ["be"]}),
        ("post", "/claim", {"questions": ["who won"]}),
        ("post", "/claim", {"questions": []}),
        ("post", "/chain", {"any": ["thing"]}),
        ("post", "/chain", {"question": "ba be", "answer": "bi", "corpus": "grove", "scorer": "tfidf"}),
        ("post", "/chain", {"question": "ba be", "answer": "bi", "facts": ["ba", "bi"], "scorer": "none"}),
    ],
)
def test_answers_are_as_the_document_says(
    served: Served, document: dict[str, Any], method: str, path: str, fields: dict[str, Any] | None
) -> None:
    reply = served.post(path, **fields) if fields is not None else served.send("GET", path)
    told = document["paths"][path][method]["responses"][str(reply.status)]
    schema = {**told["content"]["application/json"]["schema"], "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(reply.json)


def test_nothing_is_loaded_from_elsewhere(served: Served) -> None:
    assert served.send("GET", "/docs").status == 404
    assert served.send("GET", "/redoc").status == 404
