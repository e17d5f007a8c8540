"""``entail app``: what is decided before a server runs; the server itself is met in the browser tests."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import entail
from entail.ui.app import ASGI
from entail.ui.launch import launch
from tests.support.machine import free_port


def test_options_of_streamlit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.web import cli

    calls: list[list[str]] = []
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(cli, "main", lambda arguments, standalone_mode: calls.append(arguments))
    monkeypatch.setattr("entail.ui.launch._prepare", lambda: None)
    monkeypatch.chdir(tmp_path)
    launch(port=8765, address="127.0.0.1")
    ((run, script, *flags, end),) = calls
    options = dict(zip(flags[::2], flags[1::2], strict=True))
    assert (run, Path(script), end) == ("run", ASGI, "--")
    # Any other option is read from the file next to the script, where the environment overrides it.
    assert options == {"--server.port": "8765", "--server.address": "127.0.0.1"}
    # Secrets and relative paths are those of the folder where the command was given.
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize("damaged", [False, True])
def test_api_needs_a_token_where_sign_in_is_configured(damaged: bool, tmp_path: Path) -> None:
    project, environment = tmp_path / "project", {}
    if damaged:  # a folder of secrets, as Kubernetes mounts them, with a stray file
        (tmp_path / "secrets.toml" / "auth").mkdir(parents=True)
        (tmp_path / "secrets.toml" / "auth" / "client_id").write_text("id")
        (tmp_path / "secrets.toml" / "stray").write_text("not a folder")
        environment = {"STREAMLIT_SECRETS_FILES": str(tmp_path / "secrets.toml")}
    (project / ".streamlit").mkdir(parents=True)
    if not damaged:
        (project / ".streamlit" / "secrets.toml").write_text('[auth]\nclient_id = "a"\n')
    environment |= {"HOME": str(tmp_path / "home"), "ENTAIL_DATA_DIR": str(tmp_path / "data")}
    inherited = {name: value for name, value in os.environ.items() if name != "ENTAIL_SERVE_TOKEN"}
    # As `entail app --api` outside of a checkout.
    code = (
        "import entail; entail.__file__ = '/site/entail/__init__.py'; from entail.ui.launch import launch\n"
        "launch(port=0, api=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=inherited | environment,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
    )
    # A thread that prepares the first page may still write a line after it.
    assert any(line.startswith("entail.errors.SettingsError") for line in done.stderr.splitlines())


@pytest.mark.parametrize(
    ("named", "entry"),
    [("none.toml", "x = 1"), ("ok.toml", 'Auth = "geheim"')],
)
def test_no_start_with_secrets_that_cannot_be_used(named: str, entry: str, tmp_path: Path) -> None:
    """The app does not start, rather than without sign-in."""
    (tmp_path / "ok.toml").write_text(f"{entry}\n")
    environment = {
        **os.environ,
        "ENTAIL_DATA_DIR": str(tmp_path / "data"),
        "STREAMLIT_SECRETS_FILES": named,
        "PYTHONPATH": str(Path(entail.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "entail", "app", "--port", "0", "--address", "127.0.0.1"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "geheim" not in done.stderr


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
    port = free_port()
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
        errors = process.communicate(timeout=60)[1].decode()
    assert "Traceback" not in errors
    log = (tmp_path / "data" / "log" / "app.log").read_text()
    assert log
    assert token not in log
