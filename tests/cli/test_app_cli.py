"""``entail app``: what is decided before a server runs; the server itself is met in the browser tests."""

from pathlib import Path

import pytest

import entail
from entail.cli import main
from entail.errors import SettingsError
from entail.ui.launch import launch


def test_without_the_pages_it_says_where_the_app_runs_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entail, "__file__", str(tmp_path / "site" / "entail" / "__init__.py"))
    with pytest.raises(SettingsError, match="checkout"):
        launch()


def test_streamlit_gets_the_script_and_the_port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from streamlit.web import cli

    from entail.ui import launch as module

    asked: list[list[str]] = []
    monkeypatch.setattr(cli, "main", lambda arguments, standalone_mode: asked.append(arguments))
    monkeypatch.setattr(module, "_prepare", lambda: None)
    monkeypatch.chdir(tmp_path)
    launch(port=8765, address="127.0.0.1")
    (arguments,) = asked
    assert Path(arguments[1]).name == "streamlit_app.py"
    assert arguments[2:] == ["--server.port", "8765", "--server.address", "127.0.0.1"]
    assert (Path.cwd() / ".streamlit" / "config.toml").is_file()


def test_a_port_that_is_none_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["app", "--port", "70000"]) == 2
    assert "65535" in capsys.readouterr().err
