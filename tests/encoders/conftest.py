"""A sentence-transformers model small enough to be made anew in every run."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

DIMENSION = 8
WORDS = ["ice", "is", "cold", "fire", "hot", "the", "moon", "rock", "a", "kind", "of", "a", "star", "water"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(autouse=True)
def _processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_DEVICE", "cpu")


@pytest.fixture(scope="session")
def save_tiny(write_bert: Callable[..., Path]) -> Callable[..., Path]:
    """Return what writes a BERT of one layer with mean pooling, which knows every letter."""
    words = list(dict.fromkeys([*WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]))
    sizes = {"intermediate_size": DIMENSION, "max_position_embeddings": 64, "initializer_range": 0.5}
    defaults: dict[str, Any] = {"words": words, "dimension": DIMENSION, "scale": 1.0, **sizes}

    def save(folder: Path, *, seed: int = 0, dense: int | None = None, **options: Any) -> Path:
        return write_bert(folder, seed=seed, dense=dense, options=options, **defaults)

    return save


@pytest.fixture(scope="session")
def tiny(save_tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain model of dimension 8; shared: copy it before changing it."""
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny")


def save_adapter(
    folder: Path, base: Path, *, seed: int = 1, half: bool = False, modules: Any = None, **options: Any
) -> Path:
    """Write a PEFT adapter that moves the base's vectors: alone, or with `modules` and settings."""
    import torch
    from peft import LoraConfig
    from safetensors.torch import load_file, save_file
    from sentence_transformers import SentenceTransformer

    own: dict[str, Any] = options.pop("settings", {})
    model = SentenceTransformer(None if modules else str(base), modules=modules, device="cpu", **own)
    torch.manual_seed(seed)
    model.add_adapter(LoraConfig(**{"r": 2, "target_modules": ["query", "value"], **options}))
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and "lora_A" not in name:
            torch.nn.init.normal_(parameter, std=0.3 if base.name == "tiny" else 0.02)
    if modules:
        model.save_pretrained(str(folder), create_model_card=False)
    else:
        model.transformers_model.save_pretrained(str(folder))
    if half:
        weights = folder / "adapter_model.safetensors"
        save_file({name: tensor.half() for name, tensor in load_file(weights).items()}, weights)
    return folder


@pytest.fixture(scope="session")
def tiny_adapter(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PEFT adapter on `tiny` that moves its vectors; `entail.json` names the base by its path."""
    folder = save_adapter(tmp_path_factory.mktemp("models") / "tuned", tiny)
    card = {"method": "siamese", "base": str(tiny), "licence": "apache-2.0"}
    (folder / "entail.json").write_text(json.dumps(card), encoding="utf-8")
    return folder


@pytest.fixture
def models_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(folder))
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    return folder


@pytest.fixture
def copied(tiny: Path, models_dir: Path) -> Path:
    """A copy of `tiny` under `models/`, to be changed."""
    return Path(shutil.copytree(tiny, models_dir / "mine"))


def edit_json(path: Path, change: Callable[[Any], object] | Mapping[str, object]) -> None:
    """Change the content of a file of JSON by a function, or these fields of it."""
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    changed = change(content) if callable(change) else {**content, **change}
    path.write_text(json.dumps(changed), encoding="utf-8")


def edit_tensors(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change the tensors of a file."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path, metadata={"format": "pt"})


def card(folder: Path, **fields: Any) -> Path:
    (folder / "entail.json").write_text(json.dumps(fields), encoding="utf-8")
    return folder


@pytest.fixture
def make(tiny: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write an encoder of a kind, its base `tiny` or another."""

    def _make(kind: str, *, base: Path = tiny, name: str = "tuned", said: Any = None, **options: Any) -> Path:
        folder = save_adapter(tmp_path / name, base, **options)
        if kind == "dual":
            save_adapter(folder / "premise_tower", base, **{**options, "seed": 2})
        return card(folder, method="aeenc", base=said or str(base), towers=kind)

    return _make
