"""GaussCSE from the command line and in the queue of trainings."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from entail.cli import main
from entail.data.nli.pairs import NliPair
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.gausscse.method import evaluate, preview
from entail.training.method import method
from entail.training.nli_source import PairSource

Pairs = Callable[..., list[NliPair]]


@pytest.fixture
def files(tmp_path: Path, nli_pairs: Pairs) -> dict[str, Path]:
    paths = {}
    for number, name in enumerate(("train", "more", "dev")):
        rows = [
            {"sentence1": p.premise, "sentence2": p.hypothesis, "gold_label": p.label}
            for p in nli_pairs(20, seed=number)
        ]
        rows.append({"sentence1": "ba be", "sentence2": "ba", "gold_label": "-"})
        paths[name] = tmp_path / f"{name}.jsonl"
        paths[name].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return paths


def test_trained_and_told_from_the_command_line(
    tiny_home: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--pairs", str(files["train"]), "--pairs", str(files["more"])]
    arguments += ["--dev", str(files["dev"])]
    small = ["--base", "tiny", "--epochs", "1"]
    for setting in ("rank=2", "batch_size=8", "evaluate_every=2"):
        small += ["--set", setting]
    out = tiny_home / "mine"
    assert main(["train", "gausscse", *arguments, *small, "--out", str(out)]) == 0
    assert "40 triplets" in capsys.readouterr().out
    assert GaussianEncoder("mine").threshold is not None
    assert (
        main(["evaluate", "nli", "--direction", "--data", str(files["dev"]), "--encoder", "mine", "--json"])
        == 0
    )
    figures = json.loads(capsys.readouterr().out)
    assert 0 <= figures["accuracy"] <= 1
    assert figures["n"] == 20
    assert figures["length_baseline"] == 1
    assert set(figures["longer_entailed"]) >= {"accuracy", "n"}
    assert main(["evaluate", "nli", "--data", str(files["dev"]), "--encoder", "mine", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["threshold"] == GaussianEncoder("mine").threshold
    assert figures["n"] == 60


def test_what_would_be_trained_on_is_shown_first(files: dict[str, Path]) -> None:
    how = method("gausscse")
    source = PairSource(pairs=(files["train"],), dev=files["dev"])
    data_preview = preview(source.read(), how.make_config({}))
    assert data_preview.counts == {
        "triplets": 20,
        "premises": 20,
        "with a contradiction": 20,
        "dev pairs": 60,
    }
    assert data_preview.left_out == {"rows with another label or that cannot be read": 1}
    assert len(data_preview.rows) == 20
    assert str(source) == "train.jsonl"


def test_points_are_not_measured_beside_gaussians(tiny_home: Path, files: dict[str, Path]) -> None:
    data = PairSource(pairs=(files["train"],), dev=files["dev"]).read()
    assert evaluate("tiny", data, None) is None
