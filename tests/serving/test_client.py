"""The client against a mock transport; test_load has a real server."""

from typing import Any

import httpx2
import numpy as np
import pytest

from entail.errors import EntailError, ServingError
from entail.serving.client import MAX_RETRY_SECONDS, Client
from entail.serving.messages import EncodeAnswer, EncodeRequest
from tests.serving.conftest import TOKEN

REQUEST = EncodeRequest(texts=["a", "b"])
ANSWER = EncodeAnswer.of(np.eye(2, 3, dtype=np.float32), REQUEST, encoder="e", revision="e@1").model_dump()


def refusal(status: int, kind: str = "busy", **headers: str) -> httpx2.Response:
    content = {"error": {"kind": kind, "message": "no", "field": "texts.0"}}
    return httpx2.Response(status, json=content, headers=headers)


def client(*answers: Any, **options: Any) -> tuple[Client, list[httpx2.Request], list[float]]:
    waiting, requests, slept = list(answers), [], []

    def handle(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        answer = waiting.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx2.Response) else httpx2.Response(200, json=answer)

    api_client = Client(token=TOKEN, transport=httpx2.MockTransport(handle), sleep=slept.append, **options)
    return api_client, requests, slept


def test_retry_after() -> None:
    again, late = refusal(429, **{"Retry-After": "7"}), refusal(503, "not_ready", **{"Retry-After": "9999"})
    api_client, requests, slept = client(again, late, ANSWER, again, again, again, attempts=3)
    assert api_client.encode(["a", "b"]).shape == (2, 3)
    assert (len(requests), slept) == (3, [7.0, MAX_RETRY_SECONDS])
    with pytest.raises(ServingError) as caught:
        api_client.info()
    assert (caught.value.status, caught.value.kind, caught.value.field) == (429, "busy", "texts.0")
    assert len(requests) == 6


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(422, "invalid", **{"Retry-After": "1"}), "invalid"),
        (refusal(503, "encoder"), "encoder"),
        (httpx2.ConnectError("refused"), "unreachable"),
        (httpx2.ReadTimeout("slow"), "timeout"),
        (httpx2.Response(200, text="<html>"), "strange"),
        (httpx2.Response(502, text="<html>"), "strange"),
        ({"vectors": []}, "strange"),
    ],
)
def test_errors_without_a_retry_hide_the_token(answer: Any, kind: str) -> None:
    api_client, requests, _ = client(answer)
    with pytest.raises(EntailError) as caught:
        api_client.encode(["a"])
    assert getattr(caught.value, "kind", None) == kind
    assert len(requests) == 1
    error: BaseException | None = caught.value
    while error is not None:
        assert TOKEN not in repr(error) + str(vars(error))
        error = error.__cause__
    assert TOKEN not in repr(api_client)


@pytest.mark.parametrize("texts", [[], [""], ["a\0"], [3], ["\ud800"], ["a"] * 257, "abc"])
def test_invalid_request_is_not_sent(texts: Any) -> None:
    api_client, requests, _ = client()
    with pytest.raises(ServingError) as caught:
        api_client.encode(texts)
    assert (caught.value.status, str(caught.value.field)[:5]) == (0, "texts")
    assert not requests
