"""The OpenAPI document."""

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


def test_schemas(document: dict[str, Any]) -> None:
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


def test_operations_and_errors(document: dict[str, Any]) -> None:
    operations = {
        (path, method): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
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


def test_fields_have_descriptions(document: dict[str, Any]) -> None:
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
        ("post", "/search", {"queries": ["ba"], "corpus": "grove", "retriever": "bm25"}),
        ("post", "/search", {"queries": ["ba"], "corpus": "nowhere"}),
        ("post", "/search", {"queries": ["ba"], "corpus": "grove", "direction": "entails"}),
        ("get", "/health", None),
        ("get", "/info", None),
        ("post", "/direction", {"first": ["ba"], "second": ["be"]}),
        ("post", "/claim", {"questions": ["who won"]}),
        ("post", "/chain", {"question": "ba be", "answer": "bi", "corpus": "grove", "scorer": "tfidf"}),
        ("post", "/chain", {"question": "ba be", "answer": "bi", "facts": ["ba", "bi"], "scorer": "none"}),
    ],
)
def test_answers_fit_the_document(
    served: Served, document: dict[str, Any], method: str, path: str, fields: dict[str, Any] | None
) -> None:
    reply = served.post(path, **fields) if fields is not None else served.send("GET", path)
    response = document["paths"][path][method]["responses"][str(reply.status)]
    schema = {**response["content"]["application/json"]["schema"], "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(reply.json)


def test_no_pages_of_a_cdn(served: Served) -> None:
    assert served.send("GET", "/docs").status == 404
    assert served.send("GET", "/redoc").status == 404
