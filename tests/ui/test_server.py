"""Headers of every answer, and what sign-in closes besides the pages."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from entail.ui.frame import sign_in
from entail.ui.links import route
from entail.ui.server import METRICS, ProtectionMiddleware, security_headers

TOKEN = "a-token-of-some-length"


def client(token: str | None) -> TestClient:
    def answer(_: object) -> PlainTextResponse:
        return PlainTextResponse("content")

    inner = Starlette(routes=[Route("/{path:path}", answer)])
    return TestClient(ProtectionMiddleware(inner, token=token))


@pytest.mark.parametrize("path", ["/", METRICS, "/api/search"])
def test_everything_answers_without_sign_in(path: str) -> None:
    response = client(None).get(path)
    assert (response.status_code, response.text) == (200, "content")
    assert response.headers["x-frame-options"] == "SAMEORIGIN"


@pytest.mark.parametrize("path", [METRICS, METRICS + "/", "/base" + METRICS])
@pytest.mark.parametrize(
    ("token", "sent", "status"),
    [
        (TOKEN, f"Bearer {TOKEN}", 200),
        (TOKEN, "Bearer other", 401),
        (TOKEN, "", 401),
        (None, "Bearer None", 401),
    ],
)
def test_metrics_need_the_token_where_reading_needs_sign_in(
    path: str, token: str | None, sent: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_SIGN_IN", "to-read")
    response = client(token).get(path, headers={"Authorization": sent})
    assert response.status_code == status
    assert ("content" in response.text) == (status == 200)


@pytest.mark.parametrize("base", ["", "/tools/entail"])
@pytest.mark.parametrize(("token", "status"), [(None, 401), (TOKEN, 200)])
def test_api_without_a_token_closes_with_sign_in(
    token: str | None, status: int, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "is_configured", lambda: True)
    monkeypatch.setattr(route.st, "get_option", {"server.baseUrlPath": base}.__getitem__)
    # With a token, the API checks it itself.
    assert client(token).get(f"{base}/api/search").status_code == status
    assert client(token).get(f"{base}/apiary").status_code == 200


def test_only_the_hub_frames_a_space() -> None:
    headers = security_headers({"SPACE_HOST": "ada-demo.hf.space"})
    assert headers["Content-Security-Policy"].endswith("'self' https://huggingface.co https://*.hf.space")
    assert "X-Frame-Options" not in headers
