"""Comparison of an encoder with the active one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, gold_children
from entail.data.text import premise_key
from entail.encoders.card import write_training_queries
from entail.evaluation.retrieval.paired import QueryFigures
from entail.jobs.candidates import compare_on, compare_on_unseen
from entail.registry.models import promote

QUERIES = ("a", "b", "c", "d")


def figures(name: str, values: list[float]) -> QueryFigures:
    return QueryFigures(name, f"{name}@1", "a split", QUERIES, "MAP", {"MAP": (np.array(values), np.ones(4))})


@pytest.fixture
def heart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what lets an encoder know some queries by heart."""
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path))

    def learn(name: str, *queries: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text("{}", "utf-8")
        (folder / "model.safetensors").write_bytes(b"never read")
        write_training_queries(folder, map(premise_key, queries))

    return learn


OLD, NEW = figures("old", [0.1, 0.1, 0.1, 0.1]), figures("new", [0.9, 0.9, 0.2, 0.3])


def test_comparison_on_unseen_queries(heart: Callable[..., None]) -> None:
    heart("old", "b")
    heart("new", "a")
    found = compare_on_unseen(OLD, NEW, names=("old", "new"))
    assert (found.queries, found.seen) == (2, 0)
    assert found.measures["MAP"].second == pytest.approx(0.25)
    assert "without the 2 claims" in found.split


def test_comparison_without_unseen_queries(heart: Callable[..., None]) -> None:
    heart("old")
    heart("new", *QUERIES)
    found = compare_on_unseen(OLD, NEW, names=("old", "new"))
    assert (found.queries, found.seen, found.split) == (4, 4, "a split")


def test_compare_on(trained: Callable[..., Path], grove: dict[str, Any], tmp_path: Path) -> None:
    import json

    file = tmp_path / "grove.jsonl"
    file.write_text("\n".join(map(json.dumps, grove["rows"])), "utf-8")
    trees = tuple(read_trees(file))
    folder = trained("mine")
    promote("tiny", by="Ann", anyway=True)
    premises = Corpus.of("grove", grove["facts"])
    all_ = compare_on("mine", premises, trees)
    assert (all_.queries, all_.active.partition("@")[0]) == (16, "tiny")
    first = list(gold_children(trees))[:5]
    write_training_queries(folder, map(premise_key, first))
    assert compare_on("mine", premises, trees).queries == 11
