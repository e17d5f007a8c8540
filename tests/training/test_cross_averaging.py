"""The mean of re-rankers: what it scores, whose training queries it knows, and its command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.cli import main
from entail.encoders.card import read_training_queries, write_training_queries
from entail.encoders.cross.reranker import Reranker
from entail.errors import EncoderError, TrainingError
from entail.training.adapters.averaging import average_adapters

QUERY, PREMISES = "ba be bi", ["bo bu", "be ba", "bi bi bo"]


def test_the_mean_of_equal_rerankers_scores_as_they_do(
    tiny_home: Path, write_reranker: Callable[..., Path]
) -> None:
    first, second = write_reranker("one"), write_reranker("two")
    write_training_queries(first, ["a"])
    write_training_queries(second, ["b"])
    average_adapters([first, second], tiny_home / "mean", rank=2)
    expected, scores = (Reranker(folder).score(QUERY, PREMISES) for folder in (first, tiny_home / "mean"))
    np.testing.assert_allclose(scores, expected, rtol=2e-3, atol=2e-3)
    assert read_training_queries(tiny_home / "mean") == {"a", "b"}
    assert Reranker(tiny_home / "mean").form == Reranker(first).form


def test_the_mean_is_between_two_seeds(tiny_home: Path, write_reranker: Callable[..., Path]) -> None:
    folders = [write_reranker("one"), write_reranker("two", seed=1)]
    command = ["average", *map(str, folders), "--out", str(tiny_home / "mean")]
    assert main(command) == 0
    scores = [Reranker(folder).score(QUERY, PREMISES) for folder in (*folders, tiny_home / "mean")]
    assert not np.allclose(scores[2], scores[0])
    assert not np.allclose(scores[2], scores[1])
    record = json.loads((tiny_home / "mean" / "entail.json").read_text(encoding="utf-8"))
    assert record["method"] == "reranker"
    assert [encoder["name"] for encoder in record["averaged"]["encoders"]] == ["one", "two"]


def test_a_changed_reranker_is_refused(tiny_home: Path, write_reranker: Callable[..., Path]) -> None:
    folder = write_reranker("one")
    config = folder / "adapter" / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"use_rslora": True}))
    with pytest.raises(EncoderError):
        average_adapters([folder], tiny_home / "mean")
    with pytest.raises(EncoderError):
        Reranker(folder)


def test_rerankers_of_other_forms_are_refused(
    tiny_home: Path, write_reranker: Callable[..., Path], scorer_folder: Any
) -> None:
    first = write_reranker("one")
    for other in (write_reranker("two", weight=0.5), scorer_folder("facts")):
        with pytest.raises(TrainingError):
            average_adapters([first, other], tiny_home / "mean")
    assert not (tiny_home / "mean").exists()
