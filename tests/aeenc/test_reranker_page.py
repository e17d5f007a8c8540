"""The shipped re-ranker: its page and its card are made from the committed figures."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from entail.encoders.cross.reranker import Reranker
from entail.training.cards.template import model_card

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "docs" / "results" / "reranker_minilm.json"
SHIPPED = ROOT / "models" / "reranker-minilm"


@pytest.fixture
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("make_reranker_minilm")


def test_what_ships_was_measured_and_has_the_settings_that_were_chosen() -> None:
    figures = json.loads(RESULT.read_text(encoding="utf-8"))["figures"]
    about = json.loads((SHIPPED / "entail.json").read_text(encoding="utf-8"))
    best = figures["held out"]["best"]
    assert (about["reranker"]["weight"], about["reranker"]["depth"]) == (best["weight"], best["depth"])
    assert figures["revision"] == Reranker(SHIPPED).revision
    assert sum(file.stat().st_size for file in SHIPPED.rglob("*") if file.is_file()) <= 4_000_000


def test_the_card_is_generated_and_new_queries_lead(script: ModuleType) -> None:
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert card == model_card(SHIPPED)
    figures = json.loads(RESULT.read_text(encoding="utf-8"))["figures"]
    unseen, everything = (f"| {part['rows'][0][1]:.3f} |" for part in script.for_card(figures))
    assert card.index(unseen) < card.index(everything)
