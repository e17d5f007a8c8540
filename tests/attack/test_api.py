"""Requests generated from the OpenAPI document: never a 500, answers by the document, nothing given away."""

import site
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import entail
from entail.serving.app import create_app
from entail.serving.service import Service
from tests.attack.conftest import FULL, SEED, Tally
from tests.serving.conftest import TOKEN, Served

DOCUMENT = create_app(Service([])).openapi()
for path in DOCUMENT["paths"].values():
    for method in path.values():
        method.pop("security", None)  # tokens are the test's own
OPERATIONS = {
    operation.label: operation
    for operation in (result.ok() for result in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations())
}
CONFORM = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
NAMES: dict[str, list[Any]] = {
    "encoder": ["tiny"],
    "retriever": ["tiny", "tfidf", "bm25", "tiny+bm25"],
    "scorer": ["tfidf", "none"],
    "corpus": ["grove"],
}
"""Names that the server knows, which no generator would guess."""

SECRETS = ("Traceback", 'File "', TOKEN, str(Path(entail.__file__).parent), *site.getsitepackages())


def fields_of(label: str) -> set[str]:
    """Return the fields of the body of an operation."""
    method, path = label.split()
    content = DOCUMENT["paths"][path][method.lower()].get("requestBody", {"content": {}})["content"]
    name = content.get("application/json", {"schema": {"$ref": ""}})["schema"]["$ref"].rpartition("/")[2]
    return set(DOCUMENT["components"]["schemas"].get(name, {}).get("properties", {}))


def cases(label: str, mode: GenerationMode) -> st.SearchStrategy[Case]:
    """Return requests of an operation, valid or not, some of them with names that the server knows."""

    def name(case: Case, names: dict[str, str]) -> Case:
        if isinstance(case.body, dict):
            case.body = {**case.body, **names}
        return case

    strategies = {field: st.sampled_from(NAMES[field]) for field in sorted(NAMES.keys() & fields_of(label))}
    generated: st.SearchStrategy[Case] = OPERATIONS[label].as_strategy(generation_mode=mode)
    return st.builds(name, generated, st.fixed_dictionaries({}, optional=strategies))


MODES = [
    pytest.param(label, mode, id=f"{label}-{mode.value}")
    for label in OPERATIONS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or fields_of(label)  # without a parameter nothing can be wrong
]


@pytest.mark.parametrize(("label", "mode"), MODES)
def test_generated_requests(
    serve: Callable[..., Served], label: str, mode: GenerationMode, tmp_path: Path, tally: Tally
) -> None:
    served, statuses = serve(token=TOKEN), Counter[int]()
    public = "/health" in label

    @seed(SEED)
    @settings(
        max_examples=100 if FULL else 8,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(label, mode), signed=st.sampled_from([True, True, True, False]))
    def attack(case: Case, signed: bool) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"} if signed else {"Authorization": "Bearer another"}
        response = case.call(base_url=served.url, headers=headers)
        statuses[response.status_code] += 1
        assert response.status_code != 500
        assert (response.status_code == 401) == (not signed and not public)
        case.validate_response(response, checks=CONFORM)
        assert not any(secret in response.text for secret in (*SECRETS, str(tmp_path)))

    attack()
    assert served.send("GET", "/health").json["ready"]
    if FULL and mode is GenerationMode.POSITIVE and label != "POST /direction":
        assert 200 in statuses  # but for directions, which no encoder here tells
    tally(attempts=statuses.total(), failures=0)
