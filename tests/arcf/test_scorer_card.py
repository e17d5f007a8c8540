"""What the card of a scorer says of itself."""

import json
from pathlib import Path

import pytest

from entail.arcf.card import scorer_card

CHAINS = {"MAP": 0.5, "tfidf": 0.4, "questions": 1000, "source": "dev.tsv", "k": 60, "commit": "abc"}


@pytest.mark.parametrize(
    ("scheme", "says", "never"),
    [
        (
            "arcf",
            [
                "one after another",
                "whole chains, on 1,000 questions of dev.tsv",
                "chosen on, 60 facts visible",
            ],
            ["--method single-fact", "by itself"],
        ),
        (
            "single-fact",
            ["scores each fact by itself", "rankings by single facts", "--method single-fact"],
            ["one after another", "visible", "the facts chosen so far"],
        ),
    ],
)
def test_a_baseline_does_not_pass_for_the_method(
    tmp_path: Path, scheme: str, says: list[str], never: list[str]
) -> None:
    told = {"method": "arcf", "base": "minilm", "scorer": {"scheme": scheme}, "figures": {"chains": CHAINS}}
    (tmp_path / "entail.json").write_text(json.dumps(told), encoding="utf-8")
    card = scorer_card(tmp_path, name="mine")
    assert [words for words in says if words not in card] == []
    assert [words for words in never if words in card] == []
    assert "as `entail evaluate chains` measured them" not in card
    assert "MAP 0.500, by shared words alone (tf-idf) 0.400" in card


def test_what_was_measured_later_stands_in_a_table(tmp_path: Path) -> None:
    one = {"source": "s", "method": "arcf", "data": "ours.tsv", "digest": "a1", "questions": 1234}
    one |= {"facts": 9720, "map": 0.5, "interval": [0.45, 0.55], "settings": {"k": "60"}}
    told = {"method": "arcf", "base": "minilm", "figures": {"measured_chains": [one | {"about": {}}]}}
    (tmp_path / "entail.json").write_text(json.dumps(told), encoding="utf-8")
    card = scorer_card(tmp_path, name="mine")
    row = "ours.tsv (a1), 1,234 questions, k = 60 | `arcf` | 9,720 | 0.500 | 0.450 to 0.550 | `unknown`"
    assert f"| {row} |" in card
    assert "It has not been measured" not in card
    (tmp_path / "entail.json").write_text(json.dumps(told | {"figures": {}}), encoding="utf-8")
    assert "It has not been measured" in scorer_card(tmp_path, name="mine")
