"""How a tower computes attention is its own affair: no vector and no file shows it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.encoders.catalogue import resolve
from entail.encoders.stock import sentence_transformer
from entail.training.adapters.tower import Tower

TEXTS = ["ice is a kind of solid", "a rock", "gravity pulls every object towards the ground"]


@pytest.fixture
def tower(tiny_home: Path) -> Tower:
    """Return a tower whose every weight learns."""
    return Tower(resolve("tiny"), lora=None, device="cpu", dropout=0.0)


def _ways(tower: Tower) -> set[str]:
    configs: list[Any] = [getattr(module, "config", None) for module in tower.model.modules()]
    return {config._attn_implementation for config in configs if hasattr(config, "_attn_implementation")}


def test_a_tower_on_a_processor_attends_by_matrix_products(tower: Tower) -> None:
    """The fused kernel's gradient is the slower one there."""
    assert _ways(tower) == {"eager"}
    tower.attend("sdpa")
    assert _ways(tower) == {"sdpa"}


def test_vectors_and_gradients_are_those_of_the_fused_kernel(tower: Tower) -> None:
    """Padded rows among them."""
    found = {}
    for way in ("eager", "sdpa"):
        tower.attend(way)
        vectors = tower.vectors(TEXTS)
        tower.model.zero_grad()
        (vectors[0] @ vectors[1] + vectors[2].sum()).backward()
        gradients = [p.grad.numpy().ravel() for p in tower.parameters.values() if p.grad is not None]
        found[way] = (vectors.detach().numpy(), np.concatenate(gradients))
    for mine, fused in zip(found["eager"], found["sdpa"], strict=True):
        np.testing.assert_allclose(mine, fused, atol=1e-5)
    stock = sentence_transformer(resolve("tiny"), device="cpu").encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(found["eager"][0], stock, atol=1e-5)


def test_what_is_saved_does_not_tell(tower: Tower, tmp_path: Path) -> None:
    """Whoever loads it chooses for themselves."""
    tower.save(tmp_path / "eager")
    tower.attend("sdpa")
    tower.save(tmp_path / "sdpa")
    for file in (tmp_path / "eager").rglob("*.json"):
        other = tmp_path / "sdpa" / file.relative_to(tmp_path / "eager")
        assert file.read_bytes() == other.read_bytes()
        assert b"eager" not in file.read_bytes()
