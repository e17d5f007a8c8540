"""Adapters of further methods: one tiny training each, measured and averaged."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.adapters import Work, load_adapter
from lab.data import DataFolder
from lab.errors import LabError

SETTINGS = {"base": "tiny", "rank": 2, "epochs": 1, "batch_size": 8, "precision": "fp32"}


@pytest.fixture
def data(tiny_home: Path, grove: dict[str, Any], tmp_path: Path) -> DataFolder:
    """The grove, whose first five trees are those of training, and as many labelled pairs."""
    labels = ("entailment", "neutral", "contradiction")
    texts = {
        "facts.txt": grove["facts"],
        "train.jsonl": map(json.dumps, grove["rows"][:5]),
        "dev.jsonl": map(json.dumps, grove["rows"][5:]),
        **{
            f"{name}.jsonl": [
                json.dumps({"gold_label": labels[i % 3], "sentence1": a, "sentence2": b})
                for i, (a, b) in enumerate(zip(grove["facts"][start:], grove["facts"][2:], strict=False))
            ]
            for name, start in (("nli-train", 0), ("nli-dev", 1))
        },
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    names = {"corpus": "facts.txt", "train": "train.jsonl", "dev": "dev.jsonl"}
    names |= {"nli-train": "nli-train.jsonl", "nli-dev": "nli-dev.jsonl"}
    return DataFolder(tmp_path, {name: tmp_path / file for name, file in names.items()})


def work(data: DataFolder, out: Path, sets: Mapping[str, str], **settings: Any) -> Work:
    return Work(
        settings=SETTINGS | settings, preset="", seed=0, data=data, sets=sets, out=out, cache=out.parent
    )


@pytest.mark.parametrize(
    ("method", "sets", "settings", "metrics"),
    [
        (
            "reranker",
            {"corpus": "corpus", "train": "train", "trees": "dev"},
            {"retriever": "tiny+bm25", "nearest": 5, "negatives": 2},
            {"MAP", "MAP, unseen", "Hit@10, paper"},
        ),
        ("judge", {"train_a": "nli-train", "dev_a": "nli-dev"}, {"max_length": 32}, {"accuracy, nli-dev"}),
    ],
)
def test_a_method_trains_averages_and_measures(
    data: DataFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    sets: Mapping[str, str],
    settings: Mapping[str, Any],
    metrics: set[str],
) -> None:
    adapter = load_adapter(method)
    if method == "judge":
        monkeypatch.setattr("lab.adapters.judge.CHOOSING", 6)
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        adapter.train(work(data, folder, sets, **settings))
    adapter.average(folders, tmp_path / "mean", rank=2)
    measures = adapter.measure(str(tmp_path / "mean"), data, sets, cache=tmp_path)
    assert metrics <= set(measures)
    for values, weights in measures.values():
        assert len(values) == len(weights) > 0
        assert 0 <= np.average(values, weights=weights) <= 1


def test_what_no_method_has_is_refused(data: DataFolder, tmp_path: Path) -> None:
    with pytest.raises(LabError):
        load_adapter("nothing")
    begun = work(data, tmp_path / "out", {"corpus": "corpus", "train": "train"}, distil=1.0)
    for wrong in ({"preset": "nothing"}, {"extra": {"nothing": 1}, "teachers": [tmp_path / "absent"]}):
        with pytest.raises(LabError):
            load_adapter("aeenc").train(replace(begun, **wrong))
