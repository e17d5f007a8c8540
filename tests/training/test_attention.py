"""Texts of a tower, read in parts."""

from pathlib import Path

import numpy as np
import torch

from entail.encoders.catalogue import resolve
from entail.encoders.stock import sentence_transformer
from entail.training.adapters.tower import Tower

TEXTS = ["ice is a kind of solid", "a rock", "gravity pulls every object towards the ground"]


def test_texts_read_in_parts_of_similar_length_keep_order_vectors_and_gradients(tiny_home: Path) -> None:
    tower = Tower(resolve("tiny"), lora=None, device="cpu", dropout=0.0)
    texts = ["a rock", *TEXTS[::-1], "ice", TEXTS[0]]
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
