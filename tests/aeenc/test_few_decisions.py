"""The settings for a team's decisions, and that the command line takes them as they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from entail.aeenc import training
from entail.aeenc.config import AeencConfig
from entail.aeenc.few_decisions import FEW_DECISIONS, options
from entail.cli import main
from entail.errors import TrainingError


def test_the_index_stays_valid_and_nothing_is_sampled_anew() -> None:
    assert (FEW_DECISIONS.towers, FEW_DECISIONS.tuning, FEW_DECISIONS.rounds) == ("single", "lora", 0)
    assert FEW_DECISIONS.gold
    # Five times as much made the packaged encoder worse by 0.1 MAP on the decisions of a simulated author.
    assert FEW_DECISIONS.highest_rate <= 1e-4


@pytest.mark.parametrize(
    "config", [FEW_DECISIONS, AeencConfig(), AeencConfig(gold=False, in_batch=True, base="x", live_k=3)]
)
def test_options_give_the_same_settings_back(
    config: AeencConfig,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    grove: dict[str, Any],
) -> None:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path))
    facts, trees = tmp_path / "facts.txt", tmp_path / "trees.jsonl"
    facts.write_text("ice is cold\n", encoding="utf-8")
    trees.write_text(json.dumps(grove["rows"][0]), encoding="utf-8")
    taken: list[AeencConfig] = []

    def take(corpus: object, config: AeencConfig, **rest: object) -> None:
        taken.append(config)
        raise TrainingError("seen")

    monkeypatch.setattr(training, "train_aeenc", take)
    files = ["--corpus", str(facts), "--trees", str(trees), "--out", str(tmp_path / "x")]
    assert main(["train", "aeenc", *files, *options(config)]) == 1
    assert "seen" in capsys.readouterr().err
    assert taken == [config]
