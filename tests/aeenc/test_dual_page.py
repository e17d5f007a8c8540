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
    record: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8"))
    return record


def test_what_was_measured_ships() -> None:
    result = json.loads(RESULT.with_name("aeenc_dual_replay.json").read_text(encoding="utf-8"))
    shipped = resolve("aeenc-dual-minilm")
    assert result["figures"]["revision"] == shipped.revision
    assert not shipped.symmetric


def test_the_share_keeps_most_of_the_other_domain(load_script: Callable[[str], ModuleType]) -> None:
    result = json.loads(RESULT.with_name("aeenc_dual_replay.json").read_text(encoding="utf-8"))
    tables, figures = load_script("aeenc_dual_tables"), result["figures"]["held-out articles"]
    assert max(tables.SHARES, key=lambda share: figures[f"mean-{share:g}"]) == tables.SHARE
    assert figures["minilm"] - figures[f"mean-{tables.SHARE:g}"] < 0.01


def test_the_loss_with_the_higher_map_on_held_out_queries_ships(
    script: ModuleType, result: dict[str, Any]
) -> None:
    figures = result["figures"]["held out"]
    best = max(figures, key=lambda name: figures[name]["+bm25"]["unseen"]["query_excluded"]["MAP"])
    assert script.CONFIG.loss == script.TRIALS[best].loss
    assert script.CONFIG.towers == script.TRIALS[best].towers
