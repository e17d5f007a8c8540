"""An adapter on the query tower alone: the index is the base's, nothing is encoded anew, ranks are new."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.bundled import sample_corpus
from entail.data.records import Corpus
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import BiEncoder
from entail.index.factory import retriever
from entail.index.flat import DenseIndex
from entail.index.vectors import slug

QUERY = "is a query that nobody typed before"


@pytest.fixture(autouse=True)
def _installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("ENTAIL_DEVICE", "cpu")


def write_adapter(folder: Path, *, seed: int = 0) -> None:
    """Write LoRA of rank 4 on the query maps, as PEFT does."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    draw = torch.Generator().manual_seed(seed)
    tensors = {}
    for layer in range(6):
        at = f"base_model.model.encoder.layer.{layer}.attention.self.query"
        tensors[f"{at}.lora_A.weight"] = torch.randn(4, 384, generator=draw).half()
        tensors[f"{at}.lora_B.weight"] = (torch.randn(384, 4, generator=draw) * 0.2).half()
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": 4, "lora_alpha": 4, "target_modules": ["query"], "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")


@pytest.fixture
def make(tmp_path: Path) -> Any:
    def _make(towers: str, *, name: str = "x", **options: Any) -> str:
        folder = tmp_path / "models" / name
        write_adapter(folder, **options)
        if towers == "dual":
            write_adapter(folder / "premise_tower", seed=1)
        card = {"method": "aeenc", "base": "minilm", "base_revision": resolve("minilm").revision}
        (folder / "entail.json").write_text(json.dumps({**card, "towers": towers}), encoding="utf-8")
        return f"models/{name}"

    return _make


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The premises that any encoder was asked for."""
    texts: list[str] = []
    encode = BiEncoder.encode_premises

    def spy(self: BiEncoder, premises: Sequence[str], **options: Any) -> Any:
        texts.extend(premises)
        return encode(self, premises, **options)

    monkeypatch.setattr(BiEncoder, "encode_premises", spy)
    return texts


def test_the_bundled_sample_is_searched_with_the_vectors_that_ship(make: Any, encoded: list[str]) -> None:
    corpus = sample_corpus()
    index, base = retriever(make("single"), corpus), retriever("minilm", corpus)
    assert isinstance(index, DenseIndex)
    assert isinstance(base, DenseIndex)
    assert index.name == "x"
    mine, theirs = index.scores([QUERY]), base.scores([QUERY])
    assert np.abs(mine - theirs).max() > 0.01
    assert encoded == []
    # A premise that is the query is not taken for its own query vector.
    assert not np.allclose(index.encode([corpus.texts[3]]), base.encode([corpus.texts[3]]), atol=1e-2)


@pytest.mark.parametrize("base_first", [True, False])
def test_base_and_query_tower_share_cached_vectors(
    make: Any, encoded: list[str], tmp_path: Path, base_first: bool
) -> None:
    corpus = Corpus.of("own", ["my own fact", "another fact of mine"])
    names = ["minilm", make("single")] if base_first else [make("single"), "minilm"]
    first, second = (retriever(name, corpus) for name in names)
    second.search([QUERY], k=1)
    assert encoded == list(corpus.texts)
    np.testing.assert_array_equal(first._vectors, second._vectors)
    base = resolve("minilm").revision
    assert [folder.name for folder in (tmp_path / "data" / "vectors").iterdir()] == [slug(base or "")]
