import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from entail.encoders.card import read_training_queries, write_training_queries
from entail.errors import EncoderError, TrainingError
from entail.training.adapters.averaging import average_adapters

CONFIG = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "bias": "none", "target_modules": ["query"]}
MODULE = "base_model.model.encoder.layer.0.attention.self.query"


def adapter(
    folder: Path, *, seed: int, rank: int = 2, alpha: int = 4, module: str = MODULE, **about: str
) -> Path:
    folder.mkdir()
    torch.manual_seed(seed)
    tensors = {
        f"{module}.lora_A.weight": torch.randn(rank, 6),
        f"{module}.lora_B.weight": torch.randn(5, rank),
    }
    save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps(CONFIG | {"r": rank, "lora_alpha": alpha}))
    record = {
        "method": "aeenc",
        "base": "minilm",
        "base_revision": "minilm@1",
        "towers": "single",
        "config": {},
    }
    (folder / "entail.json").write_text(json.dumps(record | about))
    return folder


def added(folder: Path) -> torch.Tensor:
    """Change of the base's weights by an adapter."""
    tensors = load_file(folder / "adapter_model.safetensors")
    config = json.loads((folder / "adapter_config.json").read_text())
    (a,) = (t.float() for name, t in tensors.items() if "lora_A" in name)
    (b,) = (t.float() for name, t in tensors.items() if "lora_B" in name)
    assert len(a) <= config["r"]
    return (config["lora_alpha"] / config["r"]) * (b @ a)


def test_the_mean_is_exact_up_to_half_precision(tmp_path: Path) -> None:
    first = adapter(tmp_path / "one", seed=1)
    second = adapter(tmp_path / "two", seed=2, rank=1, alpha=3)
    lost = average_adapters([first, second], tmp_path / "mean")
    expected = (added(first) + added(second)) / 2
    assert lost == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(added(tmp_path / "mean"), expected, atol=2e-2)


def test_of_two_towers_each_is_averaged(tmp_path: Path) -> None:
    folders = [adapter(tmp_path / name, seed=i, towers="dual") for i, name in enumerate(("one", "two"))]
    towers = [adapter(folder / "premise_tower", seed=i + 5) for i, folder in enumerate(folders)]
    average_adapters(folders, tmp_path / "mean")
    for mean, (first, second) in (
        (tmp_path / "mean", folders),
        (tmp_path / "mean" / "premise_tower", towers),
    ):
        np.testing.assert_allclose(added(mean), (added(first) + added(second)) / 2, atol=2e-2)
    assert json.loads((tmp_path / "mean" / "entail.json").read_text())["towers"] == "dual"
    with pytest.raises(TrainingError, match="of one towers"):
        average_adapters([folders[0], adapter(tmp_path / "three", seed=3)], tmp_path / "out")
    assert average_adapters(folders, tmp_path / "lower", rank=1) > 0


def test_a_changed_adapter_is_refused(tmp_path: Path) -> None:
    mean = tmp_path / "mean"
    average_adapters([adapter(tmp_path / "one", seed=1)], mean)
    config = mean / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"base_model_name_or_path": "another"}))
    average_adapters([mean], tmp_path / "again")
    config.write_text(json.dumps(json.loads(config.read_text()) | {"lora_alpha": 5}))
    with pytest.raises(EncoderError):
        average_adapters([mean], tmp_path / "out")


def test_the_mean_tells_of_its_members(tmp_path: Path) -> None:
    first, second = adapter(tmp_path / "one", seed=1), adapter(tmp_path / "two", seed=2)
    for folder in (first, second):
        write_training_queries(folder, [folder.name, "both"])
    average_adapters([first, second], tmp_path / "mean")
    assert read_training_queries(tmp_path / "mean") == {"one", "two", "both"}
    about = json.loads((tmp_path / "mean" / "entail.json").read_text())
    assert [e["name"] for e in about["averaged"]["encoders"]] == ["one", "two"]
    assert about["base_revision"] == "minilm@1"


def test_a_lower_rank_is_the_best_approximation_and_says_what_is_lost(tmp_path: Path) -> None:
    folder = adapter(tmp_path / "one", seed=1)
    lost = average_adapters([folder], tmp_path / "low", rank=1)
    values = np.linalg.svd(added(folder).numpy(), compute_uv=False)
    assert lost == pytest.approx(values[1] ** 2 / (values**2).sum(), rel=1e-3)
    error = np.linalg.norm(added(tmp_path / "low") - added(folder))
    assert error == pytest.approx(values[1], rel=1e-2)


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    folder = adapter(tmp_path / "one", seed=1)
    with pytest.raises(TrainingError, match="found 0"):
        average_adapters([], tmp_path / "out")
    with pytest.raises(TrainingError, match=r"'minilm@1' in one and 'minilm@2' in other"):
        average_adapters(
            [folder, adapter(tmp_path / "other", seed=2, base_revision="minilm@2")], tmp_path / "out"
        )
    with pytest.raises(TrainingError, match="same modules"):
        average_adapters([folder, adapter(tmp_path / "key", seed=2, module=MODULE + "2")], tmp_path / "out")
    (folder / "adapter_config.json").write_text(json.dumps(CONFIG | {"use_dora": True}))
    with pytest.raises(TrainingError, match="plain LoRA"):
        average_adapters([folder], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def gaussians(folder: Path, *, seed: int, **form: object) -> Path:
    """Write an adapter with a head of its own, trained by `kl_mean` unless it is told otherwise."""
    gaussian_form = {
        "similarity": "kl_mean",
        "threshold": 0.5,
        "direction": {"slope": 2.0, "intercept": 0.0},
    } | form
    adapter(folder, seed=seed)
    about = json.loads((folder / "entail.json").read_text())
    (folder / "entail.json").write_text(json.dumps(about | {"method": "gausscse", "gaussian": gaussian_form}))
    (folder / "head").mkdir()
    save_file(
        {"linear.weight": torch.full((4, 2), float(seed)).half()}, folder / "head" / "model.safetensors"
    )
    (folder / "head" / "config.json").write_text("{}")
    return folder


def test_heads_are_averaged_and_what_was_fitted_on_dev_is_left_out(tmp_path: Path) -> None:
    first, second = gaussians(tmp_path / "one", seed=1), gaussians(tmp_path / "two", seed=2)
    average_adapters([first, second], tmp_path / "mean")
    (head,) = load_file(tmp_path / "mean" / "head" / "model.safetensors").values()
    assert head.dtype == torch.float16
    assert (head == 1.5).all()
    assert (tmp_path / "mean" / "head" / "config.json").read_text() == "{}"
    form = json.loads((tmp_path / "mean" / "entail.json").read_text())["gaussian"]
    assert (form["similarity"], form["threshold"], form["direction"]) == ("kl_mean", None, None)


def test_heads_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    first, second = gaussians(tmp_path / "one", seed=1), gaussians(tmp_path / "two", seed=2, similarity="kl")
    with pytest.raises(TrainingError, match="of one gaussian"):
        average_adapters([first, second], tmp_path / "out")
    with pytest.raises(TrainingError, match="of one gaussian"):
        average_adapters([first, adapter(tmp_path / "point", seed=3, method="gausscse")], tmp_path / "out")
    save_file({"linear.weight": torch.zeros(6, 2)}, first / "head" / "model.safetensors")
    with pytest.raises(TrainingError, match="heads of one shape"):
        average_adapters([first, gaussians(tmp_path / "three", seed=3)], tmp_path / "out")
    (first / "head" / "model.safetensors").unlink()
    with pytest.raises(TrainingError, match=r"one: expected head/model\.safetensors, found none"):
        average_adapters([first], tmp_path / "out")
    assert not (tmp_path / "out").exists()
