"""Towers in training, folders of models, and the mean of several."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from entail.encoders.card import read_training_queries, write_training_queries
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.stock import sentence_transformer
from entail.errors import EncoderError, TrainingError
from entail.training.adapters.averaging import average_adapters
from entail.training.adapters.saving import require_destination, save_encoder
from entail.training.adapters.tower import Tower

TEXTS = ["a rock", "gravity pulls every object towards the ground", "ice is a kind of solid", "ice"]


def test_texts_read_in_parts_of_similar_length_keep_order_vectors_and_gradients(tiny_home: Path) -> None:
    tower = Tower(resolve("tiny"), lora=None, device="cpu", dropout=0.0)
    texts = [*TEXTS, TEXTS[1]]
    weights = torch.arange(1.0, len(texts) + 1)[:, None]
    outputs = {}
    for size in (None, 2, 4):
        tower.at_once = size
        tower.model.zero_grad()
        vectors = tower.vectors(texts)
        (weights * vectors * vectors[0]).sum().backward()
        gradients = [p.grad.numpy().ravel() for p in tower.parameters.values() if p.grad is not None]
        outputs[size] = (vectors.detach().numpy(), np.concatenate(gradients))
    stock = sentence_transformer(resolve("tiny"), device="cpu").encode(texts, normalize_embeddings=True)
    np.testing.assert_allclose(outputs[None][0], stock, atol=1e-5)
    for size in (2, 4):
        for mine, whole in zip(outputs[size], outputs[None], strict=True):
            np.testing.assert_allclose(mine, whole, atol=1e-5)


def write_zeros(folder: Path) -> None:
    (folder / "head").mkdir(parents=True)
    for file in (folder / "adapter_model.safetensors", folder / "head" / "model.safetensors"):
        save_file({"weight": torch.zeros(2)}, file)


@pytest.mark.parametrize("umask", [0o022, 0o027], ids=oct)
def test_weights_are_for_whoever_the_other_files_are_for(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        save_encoder(tmp_path / "mine", method="some", write=write_zeros, about={"method": "some"})
    finally:
        os.umask(before)
    files = [path for path in (tmp_path / "mine").rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o666 & ~umask}


@pytest.mark.parametrize("name", ["minilm", "MiniLM", "all-MiniLM-L6-v2", "bm25", "file", "folder", "tiny"])
def test_nothing_else_is_written_over_or_hidden_by_its_name(tiny_home: Path, name: str) -> None:
    (tiny_home / "file").write_text("mine", encoding="utf-8")
    (tiny_home / "folder").mkdir()
    (tiny_home / "folder" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(TrainingError):
        require_destination(tiny_home / name, method="aeenc")
    require_destination(tiny_home.parent / name, method="aeenc")  # there it is found by its path


def test_a_failed_save_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, move = tmp_path / "mine", Path.replace
    about = {"method": "some"}
    save_encoder(out, method="some", write=write_zeros, about=about)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}

    def half(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "adapter_model.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    def replace(path: Path, target: Path) -> Path:
        if path.name == ".mine.partial":
            raise OSError(28, "No space left on device")
        return move(path, target)

    with pytest.raises(TrainingError, match="No space left"):
        save_encoder(out, method="some", write=half, about=about)
    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(TrainingError, match="No space left"):
        save_encoder(out, method="some", write=write_zeros, about={**about, "notes": ["new"]})
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_an_adapter_of_another_base_is_refused(trained: Callable[..., Path]) -> None:
    with pytest.raises(EncoderError):
        BiEncoder(trained(base="other")).load()


CONFIG = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "bias": "none", "target_modules": ["query"]}
MODULE = "base_model.model.encoder.layer.0.attention.self.query"


def adapter(
    folder: Path, *, seed: int, rank: int = 2, alpha: int = 4, module: str = MODULE, **about: Any
) -> Path:
    folder.mkdir()
    torch.manual_seed(seed)
    parts = {"A": torch.randn(rank, 6), "B": torch.randn(5, rank)}
    tensors = {f"{module}.lora_{letter}.weight": tensor for letter, tensor in parts.items()}
    save_file(tensors, folder / "adapter_model.safetensors")
    config = CONFIG | {"r": rank, "lora_alpha": alpha} | about.pop("configuration", {})
    (folder / "adapter_config.json").write_text(json.dumps(config))
    record = {"method": "aeenc", "base": "minilm", "base_revision": "minilm@1", "towers": "single"}
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


def test_the_mean_is_exact_and_tells_of_its_members(tmp_path: Path, run_json: Any) -> None:
    first = adapter(tmp_path / "one", seed=1)
    second = adapter(tmp_path / "two", seed=2, rank=1, alpha=3)
    for folder in (first, second):
        write_training_queries(folder, [folder.name, "both"])
    report = run_json("average", str(first), str(second), "--out", str(tmp_path / "mean"))
    assert report["lost"] == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(added(tmp_path / "mean"), (added(first) + added(second)) / 2, atol=2e-2)
    assert read_training_queries(tmp_path / "mean") == {"one", "two", "both"}
    about = json.loads((tmp_path / "mean" / "entail.json").read_text())
    assert [e["name"] for e in about["averaged"]["encoders"]] == ["one", "two"]
    assert about["base_revision"] == "minilm@1"


def test_of_two_towers_each_is_averaged(tmp_path: Path) -> None:
    folders = [adapter(tmp_path / name, seed=i, towers="dual") for i, name in enumerate(("one", "two"))]
    towers = [adapter(folder / "premise_tower", seed=i + 5) for i, folder in enumerate(folders)]
    mean = tmp_path / "mean"
    average_adapters(folders, mean)
    for part, (first, second) in ((mean, folders), (mean / "premise_tower", towers)):
        np.testing.assert_allclose(added(part), (added(first) + added(second)) / 2, atol=2e-2)
    assert json.loads((mean / "entail.json").read_text())["towers"] == "dual"
    assert average_adapters(folders, tmp_path / "lower", rank=1) > 0


def test_a_lower_rank_is_the_best_approximation_and_says_what_is_lost(tmp_path: Path) -> None:
    folder = adapter(tmp_path / "one", seed=1)
    lost = average_adapters([folder], tmp_path / "low", rank=1)
    values = np.linalg.svd(added(folder).numpy(), compute_uv=False)
    assert lost == pytest.approx(values[1] ** 2 / (values**2).sum(), rel=1e-3)
    error = np.linalg.norm(added(tmp_path / "low") - added(folder))
    assert error == pytest.approx(values[1], rel=1e-2)


def test_a_changed_adapter_and_none_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="found 0"):
        average_adapters([], tmp_path / "out")
    mean = tmp_path / "mean"
    average_adapters([adapter(tmp_path / "one", seed=1)], mean)
    config = mean / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"base_model_name_or_path": "another"}))
    average_adapters([mean], tmp_path / "again")
    config.write_text(json.dumps(json.loads(config.read_text()) | {"lora_alpha": 5}))
    with pytest.raises(EncoderError):
        average_adapters([mean], tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_revision": "minilm@2"}, "'minilm@1' in one and 'minilm@2' in other"),
        ({"towers": "dual"}, "of one towers"),
        ({"module": MODULE + "2"}, "same modules"),
        ({"gaussian": {"similarity": "kl"}}, "points"),
        ({"configuration": {"use_dora": True}}, "plain LoRA"),
    ],
)
def test_what_does_not_belong_together_or_is_no_plain_adapter_is_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    folders = [adapter(tmp_path / "one", seed=1), adapter(tmp_path / "other", seed=2, **options)]
    with pytest.raises(TrainingError, match=message):
        average_adapters(folders, tmp_path / "out")
    assert not (tmp_path / "out").exists()
