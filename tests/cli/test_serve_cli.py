"""``entail serve``: what is decided before a server runs; the server itself is met in tests/serving."""

import socket
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.errors import SettingsError
from entail.runtime import shared_metrics
from entail.serving.app import serve
from entail.settings import load_settings


@pytest.fixture(autouse=True)
def own_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the metrics of the tests' process to itself: the variable of a shared folder would stay set."""
    monkeypatch.setattr(shared_metrics, "share_metrics", lambda: None)


def test_unknown_encoder_and_port_in_use(tiny_home: Path, run_json: Any) -> None:
    assert run_json("serve", "--encoder", "nowhere", code=1)["error"]["type"] == "UnknownEncoderError"
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        error = run_json("serve", "--encoder", "tiny", "--port", str(port), code=1)["error"]
    assert f"127.0.0.1:{port}" in error["message"]


def test_warning_without_a_token(
    tiny_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("uvicorn.run", lambda app, **options: None)
    assert main(["serve", "--encoder", "tiny", "--encoder", "other"]) == 0
    assert not caplog.records
    serve(host="0.0.0.0")
    assert "anybody who reaches 0.0.0.0" in caplog.text
    caplog.clear()
    monkeypatch.setenv("ENTAIL_SERVE_TOKEN", "a-token-of-some-length")
    serve(host="0.0.0.0")
    assert not caplog.records


@pytest.mark.parametrize(
    "token", ["short", "with a space in the middle", "café-café-café-café", "line\nbreak-line-break"]
)
def test_malformed_token(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_SERVE_TOKEN", token)
    with pytest.raises(SettingsError, match=f"found {len(token)} characters") as caught:
        load_settings()
    assert token not in str(caught.value)
