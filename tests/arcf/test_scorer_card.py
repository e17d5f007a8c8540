"""Card of a scorer: the scheme decides its idea, its commands and its figures."""

import json
from pathlib import Path

import pytest

from entail.training.cards.template import model_card


@pytest.mark.parametrize(("scheme", "is_single"), [("arcf", False), ("single-fact", True)])
def test_a_baseline_does_not_pass_for_the_method(tmp_path: Path, scheme: str, is_single: bool) -> None:
    record = {"method": "arcf", "base": "minilm", "scorer": {"scheme": scheme}, "figures": {}}
    (tmp_path / "entail.json").write_text(json.dumps(record), encoding="utf-8")
    card = model_card(tmp_path, name="mine")
    assert ("--scorer mine --method single-fact" in card) is is_single
    assert ("one after another" in card) is not is_single
    assert "pipeline_tag: text-ranking" in card


def test_stored_figures_are_on_the_card(tmp_path: Path) -> None:
    figures = {"source": "s", "method": "arcf", "data": "ours.tsv", "digest": "a1", "questions": 1234}
    figures |= {"facts": 9720, "map": 0.5, "interval": [0.45, 0.55], "settings": {"k": "60"}}
    record = {"method": "arcf", "base": "minilm", "figures": {"measured_chains": [figures | {"about": {}}]}}
    (tmp_path / "entail.json").write_text(json.dumps(record), encoding="utf-8")
    row = "ours.tsv (a1), 1,234 questions, k = 60 | `arcf` | 9,720 | 0.500 | 0.450 to 0.550"
    assert f"| {row} |" in model_card(tmp_path, name="mine")
    (tmp_path / "entail.json").write_text(json.dumps(record | {"figures": {}}), encoding="utf-8")
    assert "not been evaluated" in model_card(tmp_path, name="mine")
