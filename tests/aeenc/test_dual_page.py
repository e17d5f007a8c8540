"""Page and figures of `scripts/make_aeenc_dual.py`."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from entail.encoders.catalogue import resolve

RESULT = Path(__file__).parent.parent.parent / "docs" / "results" / "aeenc_dual.json"


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("make_aeenc_dual")


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8"))
    return found


def test_the_page_is_made_from_the_committed_figures(script: ModuleType, result: dict[str, Any]) -> None:
    assert RESULT.with_suffix(".md").read_text(encoding="utf-8").splitlines() == list(script.markdown(result))


def test_what_was_measured_ships(result: dict[str, Any]) -> None:
    shipped = resolve("aeenc-dual-minilm")
    assert result["figures"]["revision"] == shipped.revision
    assert not shipped.symmetric


def test_the_loss_with_the_higher_map_on_held_out_queries_ships(
    script: ModuleType, result: dict[str, Any]
) -> None:
    held = result["figures"]["held out"]
    best = max(held, key=lambda name: held[name]["+bm25"]["unseen"]["query_excluded"]["MAP"])
    assert script.CONFIG.loss == script.TRIALS[best].loss
    assert script.CONFIG.towers == script.TRIALS[best].towers
