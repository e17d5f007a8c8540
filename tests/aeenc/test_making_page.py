"""Page of `scripts/make_aeenc_minilm.py`: itself, and what ships, which it does not make."""

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from entail.training.cards.template import model_card

ROOT = Path(__file__).parent.parent.parent
RESULT = ROOT / "docs" / "results" / "aeenc_minilm.json"


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("make_aeenc_minilm")


@pytest.fixture(scope="module")
def tables(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("aeenc_minilm_tables")


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8"))
    return record


def test_notes_and_card_are_made_from_the_committed_figures(
    tables: ModuleType, result: dict[str, Any]
) -> None:
    figures = tables.Beside.read()
    assert figures.told["notes"] == tables.notes(result, figures)
    assert (tables.SHIPPED / "README.md").read_text(encoding="utf-8") == model_card(tables.SHIPPED)


def test_what_ships_is_not_written_over_unless_it_is_named(
    script: ModuleType, tables: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Namespace] = []
    monkeypatch.setattr(script, "_run", calls.append)
    files = ["--corpus", "c", "--train", "t", "--dev", "d"]
    monkeypatch.setattr("sys.argv", ["make_aeenc_minilm.py", *files])
    assert script.main() == 0
    assert calls[0].out == Path("build/aeenc-minilm/made")
    assert tables.SHIPPED not in (ROOT / calls[0].out).parents
    monkeypatch.setattr("sys.argv", ["make_aeenc_minilm.py"])
    with pytest.raises(SystemExit) as error:
        script.main()
    assert error.value.code == 2
