"""Card of a scorer: its settings decide its description."""

import json
from pathlib import Path

import pytest

from entail.errors import EncoderError
from entail.training.cards.template import model_card


def test_a_card_describes_the_settings(tmp_path: Path) -> None:
    def card(scorer: dict[str, str]) -> str:
        record = {"method": "arcf", "base": "minilm", "scorer": scorer}
        (tmp_path / "entail.json").write_text(json.dumps(record), encoding="utf-8")
        return model_card(tmp_path, name="mine")

    described = card({"architecture": "bi", "encoder": "minilm"})
    for text in ("pipeline_tag: text-ranking", "entail rank --scorer mine", "SCAR", "explanatory power"):
        assert text in described
    assert "SCAR" not in card({})
    with pytest.raises(EncoderError, match="single facts"):
        card({"scheme": "single-fact"})
