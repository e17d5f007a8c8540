"""A tower reads texts in parts; a trained model is saved for whoever may read the folder."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from entail.encoders.catalogue import resolve
from entail.encoders.stock import sentence_transformer
from entail.training.adapters.saving import save_encoder
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


@pytest.mark.parametrize("umask", [0o022, 0o027], ids=oct)
def test_weights_are_for_whoever_the_other_files_are_for(tmp_path: Path, umask: int) -> None:
    def write(folder: Path) -> None:
        (folder / "head").mkdir(parents=True)
        for file in (folder / "adapter_model.safetensors", folder / "head" / "model.safetensors"):
            save_file({"weight": torch.zeros(2)}, file)

    before = os.umask(umask)
    try:
        save_encoder(tmp_path / "mine", method="some", write=write, about={"method": "some"})
    finally:
        os.umask(before)
    files = [path for path in (tmp_path / "mine").rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o666 & ~umask}
