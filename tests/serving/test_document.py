"""The OpenAPI document; `tests/attack/test_api` compares answers with it."""

import jsonschema

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
