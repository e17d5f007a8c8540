"""Fixtures of commands."""

import pytest


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_WORKER", "none")
