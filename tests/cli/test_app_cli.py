"""``entail app``: what is decided before a server runs; the server itself is met in the browser tests."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import entail
from entail.errors import SettingsError
from entail.ui.app import SCRIPT
from entail.ui.frame import sign_in
from entail.ui.launch import app_with_api, launch


@pytest.mark.parametrize("installed", [False, True])
def test_options_of_streamlit(installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.web import cli

    calls: list[list[str]] = []
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(cli, "main", lambda arguments, standalone_mode: calls.append(arguments))
    monkeypatch.setattr("entail.ui.launch._prepare", lambda: None)
    if installed:
        monkeypatch.setattr(entail, "__file__", str(tmp_path / "site" / "entail" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    launch(port=8765, address="127.0.0.1")
    (arguments,) = calls
    options = dict(zip(arguments[2::2], arguments[3::2], strict=True))
    assert (options["--server.port"], options["--server.address"]) == ("8765", "127.0.0.1")
    if installed:
        # Secrets are read from the folder where the command was given.
        assert (Path(arguments[1]), Path.cwd()) == (SCRIPT, tmp_path)
        assert options["--browser.gatherUsageStats"] == "False"
        assert options["--theme.dark.primaryColor"].startswith("#")
    else:
        assert Path(arguments[1]).name == "streamlit_app.py"
        assert len(options) == 2
        assert (Path.cwd() / ".streamlit" / "config.toml").is_file()


def test_api_needs_a_token_where_pages_need_sign_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENTAIL_SERVE_TOKEN", raising=False)
    monkeypatch.setattr(sign_in, "is_configured", lambda: True)
    with pytest.raises(SettingsError, match="ENTAIL_SERVE_TOKEN, found none"):
        app_with_api(Path("streamlit_app.py"))


def ask(port: int, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_pages_and_api_on_one_port(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = "a-token-of-some-length"
    environment = {
        **os.environ,
        "ENTAIL_DATA_DIR": str(tmp_path / "data"),
        "ENTAIL_SERVE_TOKEN": token,
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    command = ["-m", "entail", "app", "--api", "--port", str(port), "--address", "127.0.0.1"]
    process = subprocess.Popen([sys.executable, *command], env=environment, stderr=subprocess.PIPE)
    try:
        for _ in range(600):
            try:
                assert ask(port, "GET", "/_stcore/health") == (200, b"ok")
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.2)
        assert b"<title>Streamlit</title>" in ask(port, "GET", "/Trees")[1]
        assert json.loads(ask(port, "GET", "/api/health")[1])["live"] is True
        assert ask(port, "GET", "/api/info")[0] == 401
        assert ask(port, "POST", "/api/encode", {"texts": []}, token)[0] == 422
        status, body = ask(port, "POST", "/api/encode", {"texts": ["ice is cold"]}, token)
        assert (status, len(json.loads(body)["vectors"][0])) == (200, 384)
        assert "/encode" in json.loads(ask(port, "GET", "/api/openapi.json", token=token)[1])["paths"]
    finally:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1].decode()
    assert "Traceback" not in said
    kept = (tmp_path / "data" / "log" / "app.log").read_text()
    assert kept
    assert token not in kept
