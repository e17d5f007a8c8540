"""The mean of scorers: weights, card, command, and what cannot be averaged."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from entail.arcf.chains.ranking import ChainRanker
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.scorer import load_scorer
from entail.arcf.training import train_arcf
from entail.cli import main
from entail.encoders.cross.encoder import ADAPTER, HEAD
from entail.errors import TrainingError
from entail.training.adapters.averaging import average_adapters
from entail.training.method import Run
from tests.arcf.conftest import TINY


@pytest.fixture
def train(tiny_home: Path, world: Any) -> Callable[..., Path]:
    """Return what trains a scorer under a name."""

    def train(name: str, *, questions: Any = world.questions, **changed: Any) -> Path:
        config = replace(TINY, **changed)
        train_arcf(questions, world.facts, config, run=Run(data=["worldtree"], out=tiny_home / name))
        return tiny_home / name

    return train


def added(folder: Path) -> dict[str, torch.Tensor]:
    """Return what an adapter adds to each linear layer."""
    tensors = load_file(folder / ADAPTER / "adapter_model.safetensors")
    config = json.loads((folder / ADAPTER / "adapter_config.json").read_text(encoding="utf-8"))
    return {
        name: tensors[name.replace("lora_A", "lora_B")].float() @ a.float() * config["lora_alpha"] / len(a)
        for name, a in tensors.items()
        if "lora_A" in name
    }


def test_the_mean_is_of_adapters_and_heads(
    tiny_home: Path, train: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    first_folder, second_folder, mean = train("one"), train("two", seed=1, loss="ranknet"), tiny_home / "mean"
    assert average_adapters([first_folder, second_folder], mean) == pytest.approx(0, abs=1e-6)
    first, second = added(first_folder), added(second_folder)
    for name, tensor in added(mean).items():
        torch.testing.assert_close(tensor, (first[name] + second[name]) / 2, atol=2e-3, rtol=1e-2)
    heads = [load_file(folder / HEAD) for folder in (first_folder, second_folder, mean)]
    for name, tensor in heads[2].items():
        torch.testing.assert_close(tensor, (heads[0][name] + heads[1][name]) / 2)
    assert load_scorer("mean").form == load_scorer("one").form

    average_adapters([first_folder, second_folder], mean, rank=2)
    card = (mean / "README.md").read_text(encoding="utf-8")
    assert "`one` (0.5), `two` (0.5)" in card
    assert "| seed |" not in card
    record = json.loads((mean / "entail.json").read_text(encoding="utf-8"))
    assert record["trained_on"]["data"] == ["worldtree"]
    assert [encoder["config"]["seed"] for encoder in record["averaged"]["encoders"]] == [0, 1]

    command = ["average", str(first_folder), str(second_folder), "--out", str(tiny_home / "third")]
    assert main([*command, "--dev", "pairs.jsonl"]) == 1
    assert "pairs.jsonl" in capsys.readouterr().err
    assert main(command) == 0
    assert (tiny_home / "third" / HEAD).is_file()


def test_the_mean_of_one_with_itself_ranks_as_it(
    tiny_home: Path, world: Any, train: Callable[..., Path]
) -> None:
    folder = train("one")
    average_adapters([folder, folder], tiny_home / "mean", rank=TINY.rank)
    near = Neighbourhoods(world.facts, k=6)
    alone, mean = (
        [ranked.ranking.tolist()[:5] for ranked in ChainRanker(load_scorer(name), near).rank(world.dev)]
        for name in ("one", "mean")
    )
    assert alone == mean
    assert load_scorer("mean").revision != load_scorer("one").revision


def test_what_cannot_be_averaged_is_refused(tiny_home: Path, world: Any, train: Callable[..., Path]) -> None:
    folder, out = train("one"), tiny_home / "out"
    cross = train("cross", architecture="cross")
    fewer = train("fewer", questions=world.questions[:9])
    whole = train("whole", tuning="full", architecture="cross")
    for names, options, message in (
        ([folder, cross], {}, "of one scorer"),
        ([folder, tiny_home / "nobody"], {}, "with an adapter"),
        ([folder, fewer], {}, r"explanations\.safetensors of fewer"),
        ([folder, whole], {}, "with an adapter"),
        ([folder], {"rank": 0}, "rank"),
        ([], {}, "found 0"),
    ):
        with pytest.raises(TrainingError, match=message):
            average_adapters(names, out, **options)  # type: ignore[arg-type]  # of a tuple
    assert not out.exists()


def test_seeds_of_two_machines_are_averaged(tiny_home: Path, train: Callable[..., Path]) -> None:
    first_folder, second_folder = train("one"), train("two", seed=1)
    file = second_folder / "explanations.safetensors"
    vectors = load_file(file)["vectors"]
    for error, is_close in ((1e-4, True), (0.1, False)):
        save_file(load_file(file) | {"vectors": vectors + error}, file)
        if is_close:
            average_adapters([first_folder, second_folder], tiny_home / "mean")
        else:
            with pytest.raises(TrainingError, match="same data"):
                average_adapters([first_folder, second_folder], tiny_home / "mean")
