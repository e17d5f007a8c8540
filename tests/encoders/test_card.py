"""Records beside the weights: `entail.json` and the keys of training queries."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from entail.data.text import premise_key
from entail.encoders.card import (
    TRAINING_QUERIES,
    Card,
    read_card,
    read_training_queries,
    write_training_queries,
)
from entail.encoders.training_queries import training_queries_of
from entail.errors import EncoderError

WHOLE: dict[str, Any] = {
    "method": "aeenc",
    "base": "minilm",
    "base_revision": "minilm@53aa51172d14",
    "towers": "single",
    "figures": {"dev": {"MAP": 0.575}},
    "config": {"rank": 16},
    "trained_on": {"trees": 1313, "data": ["entailment_bank"]},
    "licence": "apache-2.0",
}


def write(folder: Path, content: object) -> Path:
    (folder / "entail.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_every_field_is_read_and_others_may_stand_beside_them(tmp_path: Path) -> None:
    card = read_card(write(tmp_path, {**WHOLE, "notes": ["of another version"]}), "x")
    assert card == Card(**WHOLE)


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    assert read_card(tmp_path, "x") is None
    assert read_card(write(tmp_path, {}), "x") == Card()
    assert read_card(write(tmp_path, dict.fromkeys(WHOLE)), "x") == Card()
    assert Card().towers == "siamese"


@pytest.mark.parametrize(
    ("field", "value"),
    [("towers", "triple"), ("towers", ["dual"]), ("base", 7), ("figures", [0.5]), ("config", "r" * 500)],
)
def test_a_field_of_another_type_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    with pytest.raises(EncoderError):
        read_card(write(tmp_path, {**WHOLE, field: value}), "x")


@pytest.fixture
def folder(tiny: Path, tmp_path: Path) -> Path:
    mine = Path(shutil.copytree(tiny, tmp_path / "mine"))
    write_training_queries(mine, map(premise_key, ["the sun is  hot", "ice is cold"]))
    return mine


def test_training_queries_are_recognised_whatever_the_white_space(folder: Path, tiny: Path) -> None:
    queries = ["the sun is hot", "ice is  cold", "ice is warm"]
    assert training_queries_of(str(folder), queries) == {"the sun is hot", "ice is  cold"}
    assert "ice" not in (folder / TRAINING_QUERIES).read_text()
    for name in (str(tiny), "minilm", "tfidf", "never heard of"):
        assert training_queries_of(name, queries) == frozenset()


@pytest.mark.parametrize("content", ["", "[]", '{"queries": 3}', '{"queries": [1, null]}', "\0"])
def test_a_damaged_record_of_training_queries_is_ignored(folder: Path, content: str) -> None:
    (folder / TRAINING_QUERIES).write_text(content)
    assert read_training_queries(folder) == frozenset()
