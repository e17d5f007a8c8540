"""Card of a scorer: its settings decide its description, its figures are on it."""

import json
from pathlib import Path

import pytest

from entail.errors import EncoderError
from entail.training.cards.template import model_card


def test_a_card_describes_the_settings_and_holds_the_figures(tmp_path: Path) -> None:
    figures = {"source": "s", "method": "arcf", "data": "ours.tsv", "digest": "a1", "questions": 1234}
    figures |= {"facts": 9720, "map": 0.5, "interval": [0.45, 0.55], "settings": {"k": "60"}}
    record = {"method": "arcf", "base": "minilm", "scorer": {"architecture": "bi", "encoder": "minilm"}}
    record |= {"figures": {"measured_chains": [figures | {"about": {}}]}}
    row = "ours.tsv (a1), 1,234 questions, k = 60 | `arcf` | 9,720 | 0.500 | 0.450 to 0.550"

    def card(changed: dict[str, object]) -> str:
        (tmp_path / "entail.json").write_text(json.dumps(record | changed), encoding="utf-8")
        return model_card(tmp_path, name="mine")

    described = card({})
    assert f"| {row} |" in described
    for text in ("pipeline_tag: text-ranking", "entail rank --scorer mine", "SCAR", "explanatory power"):
        assert text in described
    plain = card({"scorer": {}, "figures": {}})
    assert "SCAR" not in plain
    assert row not in plain
    with pytest.raises(EncoderError, match="single facts"):
        card({"scorer": {"scheme": "single-fact"}})
