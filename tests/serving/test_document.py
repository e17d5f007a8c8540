"""The OpenAPI document."""

from typing import Any

import jsonschema
import pytest

from entail.serving.app import create_app
from entail.serving.service import Service

GET = {200, 400, 429, 500, 503}
POST = {*GET, 401, 404, 408, 413, 415, 422, 504}
STATUSES = {
    **dict.fromkeys((f"/{name}" for name in ("encode", "search", "direction", "claim", "chain")), POST),
    "/health": GET,
    "/health/ready": GET,
    "/info": {*GET, 401, 504},
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Service([])).openapi()


def test_operations(document: dict[str, Any]) -> None:
    operations = document["paths"]
    assert set(operations) == set(STATUSES)
    ids = set()
    for path, methods in operations.items():
        ((method, operation),) = methods.items()
        assert method == ("post" if STATUSES[path] is POST else "get")
        assert operation["summary"]
        assert operation["description"]
        assert {int(status) for status in operation["responses"]} == STATUSES[path]
        for status, response in operation["responses"].items():
            name = response["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            plain = status == "200" or (path == "/health/ready" and status == "503")
            assert (name == "ErrorReply") == (not plain)
        assert ("security" in operation) == (not path.startswith("/health"))
        ids.add(operation["operationId"])
    assert ids == {path.removeprefix("/").replace("/", "_") for path in STATUSES}


def test_schemas(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert "HTTPValidationError" not in schemas
    for name, schema in schemas.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        if name.endswith("Request"):
            plain = {field for field, about in schema["properties"].items() if "description" not in about}
            assert plain <= {"queries", "first"}
    assert schemas["EncodeRequest"]["properties"]["texts"]["maxItems"] == 256
    assert schemas["SearchRequest"]["properties"]["k"]["maximum"] == 1_000
