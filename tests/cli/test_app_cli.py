"""``entail app``: what is decided before a server runs; the server itself is met in the browser tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import entail
from entail.ui.app import ASGI
from entail.ui.launch import launch
from tests.serving.conftest import JSON, TOKEN, ask, running_app
from tests.support.machine import free_port


def test_options_of_streamlit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.web import cli

    calls: list[list[str]] = []
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
    environment["HOME"] = str(tmp_path / "home")
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


def test_pages_and_api_on_one_port(tmp_path: Path) -> None:
    port, signed = free_port(), {**JSON, "Authorization": f"Bearer {TOKEN}"}
    with running_app(port, tmp_path / "errors"):
        assert b"<title>Streamlit</title>" in ask(port, "GET", "/Trees").body
        assert ask(port, "GET", "/api/health").json["live"] is True
        assert ask(port, "GET", "/api/info").status == 401
        assert ask(port, "POST", "/api/encode", b'{"texts": []}', signed).status == 422
        reply = ask(port, "POST", "/api/encode", b'{"texts": ["ice is cold"]}', signed, seconds=60)
        assert (reply.status, len(reply.json["vectors"][0])) == (200, 384)
        assert "/encode" in ask(port, "GET", "/api/openapi.json", headers=signed).json["paths"]
    log = (tmp_path / "data" / "log" / "app.log").read_text()
    assert log
    assert TOKEN not in log
