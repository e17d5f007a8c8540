"""Adapters on the tiny base, as a training writes them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONFIG = {"base": "tiny", "loss": "triplet", "margin": 0.1, "rank": 2, "gold": True, "initial": ""}


@pytest.fixture
def home(tiny_home: Path) -> Path:
    return tiny_home


@pytest.fixture
def encoder(home: Path) -> Callable[..., Path]:
    """Return what writes a trained encoder into `models/`."""

    def write(name: str = "mine", *, towers: str = "single", **told: Any) -> Path:
        import torch

        from entail.encoders.catalogue import PREMISE_TOWER, resolve
        from entail.training.tower import Lora, Tower

        folder, base = home / name, resolve("tiny")
        for seed, part in enumerate([folder, *([folder / PREMISE_TOWER] if towers == "dual" else [])]):
            tower = Tower(base, lora=Lora(rank=2), device="cpu")
            generator = torch.Generator().manual_seed(seed)
            with torch.no_grad():
                for parameter in tower.parameters.values():
                    parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
            tower.save(part)
        about = {
            "method": "aeenc",
            "base": "tiny",
            "base_revision": base.revision,
            "towers": towers,
            "config": CONFIG,
            "trained_on": {"queries": 16, "positives": 24, "negatives": 1200, "data": ["entailment_bank"]},
            **told,
        }
        (folder / "entail.json").write_text(json.dumps(about), encoding="utf-8")
        return folder

    return write
