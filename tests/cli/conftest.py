"""What tests of commands share."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main

RunJson = Callable[..., dict[str, Any]]


@pytest.fixture
def run_json(tiny_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> RunJson:
    monkeypatch.setenv("ENTAIL_WORKER", "none")

    def run(*arguments: str, code: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        assert main([*arguments, "--json"]) == code
        data: dict[str, Any] = json.loads(capsys.readouterr().out)
        return data

    return run
