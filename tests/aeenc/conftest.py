"""A grove as records: eight trees, sixteen queries, 40 premises."""

import json
from pathlib import Path
from typing import Any

import pytest

from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, ExplanationTree


@pytest.fixture(scope="session")
def trees(grove: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[ExplanationTree, ...]:
    file = tmp_path_factory.mktemp("grove") / "trees.jsonl"
    file.write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    return tuple(read_trees(file))


@pytest.fixture(scope="session")
def facts(grove: dict[str, Any]) -> Corpus:
    return Corpus.of("facts", grove["facts"])


@pytest.fixture
def home(tiny_home: Path) -> Path:
    return tiny_home
