"""What `scripts/make_aeenc_minilm.py` says of itself and of what ships, which it does not make."""

import copy
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
def result() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8"))
    return found


def test_page_and_card_are_made_from_the_committed_figures(
    script: ModuleType, result: dict[str, Any]
) -> None:
    beside = script.Beside.read()
    page = RESULT.with_suffix(".md").read_text(encoding="utf-8")
    assert page.splitlines() == list(script.markdown(result, beside))
    assert beside.told["notes"] == script.notes(result, beside)
    assert (script.SHIPPED / "README.md").read_text(encoding="utf-8") == model_card(script.SHIPPED)


def test_what_an_adapter_loses_is_said_with_its_limit(script: ModuleType, result: dict[str, Any]) -> None:
    beside = script.Beside.read()
    table = copy.deepcopy(dict(beside.table))
    for row, score in ((script.ADAPTER, 0.5), (script.WHOLE, 0.52)):
        for run in table[row].values():
            run["query_excluded"]["MAP"] = score
    _, adapter = script.notes(result, script.Beside(beside.told, beside.shipped, table))
    assert "an adapter has MAP 0.500 ± 0.000 on dev" in adapter
    assert "the adapter loses 0.020, more than 0.01" in adapter
    for run in table[script.WHOLE].values():
        run["query_excluded"]["MAP"] = 0.505
    _, adapter = script.notes(result, script.Beside(beside.told, beside.shipped, table))
    assert "the adapter loses 0.005, no more than 0.01" in adapter


def test_what_ships_is_not_written_over_unless_it_is_named(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Namespace] = []
    monkeypatch.setattr(script, "_run", given.append)
    files = ["--corpus", "c", "--train", "t", "--dev", "d"]
    monkeypatch.setattr("sys.argv", ["make_aeenc_minilm.py", *files])
    assert script.main() == 0
    assert given[0].out == Path("build/aeenc-minilm/made")
    assert script.SHIPPED not in (ROOT / given[0].out).parents
    monkeypatch.setattr("sys.argv", ["make_aeenc_minilm.py"])
    with pytest.raises(SystemExit) as error:
        script.main()
    assert error.value.code == 2
