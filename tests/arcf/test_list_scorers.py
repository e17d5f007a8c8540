"""Scorers of chains on disk, listed."""

import json
from pathlib import Path

import pytest

from entail.arcf.scoring.scorer import ScorerForm, list_scorers, load_scorer
from entail.arcf.tower import ScorerTower
from entail.encoders.catalogue import resolve
from entail.training.adapters.tower import Lora


@pytest.fixture
def mine(tiny_home: Path) -> str:
    """A scorer under `models/` that was never trained."""
    base = resolve("tiny")
    ScorerTower(base, lora=Lora(rank=2), device="cpu", max_length=32).save(tiny_home / "mine")
    about = {
        "method": "arcf",
        "base": "tiny",
        "base_revision": base.revision,
        "scorer": ScorerForm(max_length=32).to_json(),
    }
    (tiny_home / "mine" / "entail.json").write_text(json.dumps(about), encoding="utf-8")
    return "mine"


def test_what_is_listed_says_its_revision_without_being_loaded(mine: str) -> None:
    assert [(entry.name, entry.revision) for entry in list_scorers()] == [(mine, load_scorer(mine).revision)]
