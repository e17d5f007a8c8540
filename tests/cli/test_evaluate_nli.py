import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.encoders.gaussian.distributions import Gaussians
from entail.evaluation.nli import decisions

ROWS = [
    ("a dog runs far in the park", "a dog runs", "entailment"),
    ("ice", "ice is frozen", "entailment"),
    ("a dog runs far in the park", "a dog sleeps", "contradiction"),
    ("ice", "fire", "neutral"),
    ("ice", "fire", "-"),
]


class Words:
    """A Gaussian encoder: two sentences are near by their first letter, wide by their number of words."""

    name, revision, dimension, kind, threshold = "words", "words@1", 1, "kl", None

    def encode(self, texts: Sequence[str], *, progress: Any = None) -> Gaussians:
        values = [[ord(text[0]) % 7, len(text.split()) / 10] for text in texts]
        return Gaussians.of(np.array(values, dtype=np.float32))

    def cut(self, texts: Sequence[str]) -> list[bool]:
        return [len(text.split()) > 5 for text in texts]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "dev.jsonl.gz"
    lines = [json.dumps({"sentence1": p, "sentence2": h, "gold_label": label}) for p, h, label in ROWS]
    path.write_bytes(gzip.compress("\n".join([*lines, "{broken"]).encode()))
    return path


@pytest.fixture
def arguments(data: Path, tiny_home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Options of every command; `words` is the encoder above."""
    by_name = decisions.pair_encoder
    monkeypatch.setattr(decisions, "pair_encoder", lambda name: Words() if name == "words" else by_name(name))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return ["--data", str(data)]


@pytest.fixture
def evaluate(arguments: list[str], run_json: Any) -> Callable[..., Any]:
    return lambda *more, **code: run_json("evaluate", "nli", *arguments, *more, **code)


def test_direction(evaluate: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "results" / "direction.json"
    figures = evaluate("--direction", "--encoder", "words", "--out", str(path))
    assert json.loads(path.read_text())["figures"] == figures
    assert (figures["accuracy"], figures["n"], figures["length_baseline"]) == (0.5, 2, 0.5)
    assert figures["longer_entailed"] | {"accuracy": 0.0, "n": 1} == figures["longer_entailed"]
    assert figures["data"]["skipped"]["unreadable"] == 1


def test_point_encoder(evaluate: Callable[..., Any]) -> None:
    figures = evaluate("--encoder", "tiny")
    assert (figures["threshold_from"], figures["encoder"]) == ("data", "tiny")
    assert figures["accuracy"] >= figures["majority"] == 0.5
    refused = evaluate("--direction", "--encoder", "tiny", code=1)["error"]["message"]
    assert "a point encoder given where a Gaussian one is needed" in refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--encoder", "words", "--judge", "nli-minilm"], "--judge"),
        (["--encoder", "words", "--direction", "--dev", "x.tsv"], "--direction"),
    ],
)
def test_errors(evaluate: Callable[..., Any], options: list[str], message: str) -> None:
    assert message in evaluate(*options, code=1)["error"]["message"]
