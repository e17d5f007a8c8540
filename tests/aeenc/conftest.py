"""A grove as records: eight trees, sixteen queries, 40 premises; settings of a training of a second."""

import json
from pathlib import Path
from typing import Any

import pytest

from entail.aeenc.config import AeencConfig
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, ExplanationTree

Trees = tuple[ExplanationTree, ...]


SMALL = {"base": "tiny", "rank": 4, "epochs": 4, "batch_size": 8, "learning_rate": 0.01, "precision": "fp32"}
"""Settings of a training that takes a second."""


def small(**changes: Any) -> AeencConfig:
    """Return settings of such a training of gold triplets."""
    losses = {"margin": 0.3, "contrastive_margin": 0.9, "temperature": 0.2, "reduction": "mean", "alpha": 0.0}
    return AeencConfig(**{**SMALL, **losses, "gold": True, "live_k": 0, "k": 8, **changes})


@pytest.fixture(scope="session")
def trees(grove: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Trees:
    file = tmp_path_factory.mktemp("grove") / "trees.jsonl"
    file.write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    return tuple(read_trees(file))


@pytest.fixture(scope="session")
def facts(grove: dict[str, Any]) -> Corpus:
    return Corpus.of("facts", grove["facts"])


@pytest.fixture
def home(tiny_home: Path) -> Path:
    return tiny_home
