"""The mean of scorers: what it scores, what its card says, and what cannot be averaged."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from entail.arcf.averaging import average_scorers
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import ChainRanker
from entail.arcf.config import ArcfConfig
from entail.arcf.scoring.scorer import load_scorer
from entail.arcf.training import train_arcf
from entail.cli import main
from entail.encoders.cross.encoder import ADAPTER, HEAD
from entail.errors import EncoderError, TrainingError

SETTINGS = ArcfConfig(
    base="tiny",
    rank=4,
    k=6,
    batch_tokens=400,
    prefixes=3,
    prefixes_a_step=4,
    epochs=3,
    learning_rate=0.01,
    max_length=32,
    dropout=0.0,
    shared_pieces=1.0,
    power=1.0,
    similarity=1.0,
    precision="fp32",
)


@pytest.fixture
def scorers(tiny_home: Path, world: Any) -> Callable[..., Path]:
    """Train one under a name."""

    def train(name: str, **changed: Any) -> Path:
        questions = changed.pop("questions", world.questions)
        train_arcf(
            questions, world.facts, replace(SETTINGS, **changed), data=["worldtree"], out=tiny_home / name
        )
        return tiny_home / name

    return train


def added(folder: Path) -> dict[str, torch.Tensor]:
    """What an adapter adds to each linear layer."""
    tensors = load_file(folder / ADAPTER / "adapter_model.safetensors")
    config = json.loads((folder / ADAPTER / "adapter_config.json").read_text(encoding="utf-8"))
    return {
        name: tensors[name.replace("lora_A", "lora_B")].float() @ a.float() * config["lora_alpha"] / len(a)
        for name, a in tensors.items()
        if "lora_A" in name
    }


def test_the_mean_is_of_adapters_and_heads(tiny_home: Path, scorers: Callable[..., Path]) -> None:
    one, two = scorers("one"), scorers("two", seed=1, loss="nce")
    lost = average_scorers([one, "two"], tiny_home / "mean", weights=[0.25, 0.75])
    assert lost == pytest.approx(0, abs=1e-6)
    first, second, mean = added(one), added(two), added(tiny_home / "mean")
    for name, found in mean.items():
        torch.testing.assert_close(found, 0.25 * first[name] + 0.75 * second[name], atol=2e-3, rtol=1e-2)
    heads = [load_file(folder / HEAD) for folder in (one, two, tiny_home / "mean")]
    for name, found in heads[2].items():
        torch.testing.assert_close(found, 0.25 * heads[0][name] + 0.75 * heads[1][name])
    assert load_scorer("mean").form == load_scorer("one").form


def test_the_mean_of_one_with_itself_ranks_as_it(
    tiny_home: Path, world: Any, scorers: Callable[..., Path]
) -> None:
    average_scorers([scorers("one"), "one"], tiny_home / "mean", rank=SETTINGS.rank)
    near = Neighbourhoods(world.facts, k=6)
    alone, mean = (
        [one.ranking.tolist()[:5] for one in ChainRanker(load_scorer(name), near).rank(world.dev)]
        for name in ("one", "mean")
    )
    assert alone == mean
    assert load_scorer("mean").revision != load_scorer("one").revision


def test_the_card_says_of_what_it_is_the_mean(tiny_home: Path, scorers: Callable[..., Path]) -> None:
    average_scorers([scorers("one"), scorers("two", seed=1)], tiny_home / "mean", rank=2)
    card = (tiny_home / "mean" / "README.md").read_text(encoding="utf-8")
    assert "`one` (0.5), `two` (0.5)" in card
    assert "| rank | 4 |" in card
    assert "| seed |" not in card
    assert "not been evaluated" in card
    told = json.loads((tiny_home / "mean" / "entail.json").read_text(encoding="utf-8"))
    assert told["trained_on"]["data"] == ["worldtree"]
    assert [one["config"]["seed"] for one in told["averaged"]["encoders"]] == [0, 1]


def test_what_cannot_be_one_is_refused(tiny_home: Path, world: Any, scorers: Callable[..., Path]) -> None:
    one, out = scorers("one"), tiny_home / "out"
    with pytest.raises(TrainingError, match="expected scorers of one form"):
        average_scorers([one, scorers("alone", scheme="single-fact", loss="bxent")], out)
    with pytest.raises(
        TrainingError, match=r"same questions and facts, but explanations\.safetensors of fewer"
    ):
        average_scorers([one, scorers("fewer", questions=world.questions[:9])], out)
    with pytest.raises(TrainingError, match="whole: expected a scorer of facts with an adapter"):
        average_scorers([one, scorers("whole", tuning="full")], out)
    with pytest.raises(TrainingError, match=r"expected 1 weights, 1 in sum, found 1 with 0\.5"):
        average_scorers([one], out, weights=[0.5])
    with pytest.raises(TrainingError, match="rank of at least 1"):
        average_scorers([one], out, rank=0)
    with pytest.raises(EncoderError, match="no scorer of facts is called 'nobody'"):
        average_scorers([one, "nobody"], out)
    with pytest.raises(TrainingError, match="expected adapters to average"):
        average_scorers([], out)
    assert not out.exists()


def test_from_a_terminal(
    tiny_home: Path, scorers: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["average", str(scorers("one")), str(scorers("two", seed=1)), "--out", str(tiny_home / "mean")]
    assert main([*told, "--scale", "0.5"]) == 1
    assert "--scale" in capsys.readouterr().err
    assert main(told) == 0
    assert "the mean of 2 scorers" in capsys.readouterr().out
