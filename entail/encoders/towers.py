"""Query and premise tower of an encoder in memory: by torch or sentence-transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from entail.encoders.bert.folder import read_bert
from entail.encoders.bert.lora import read_lora, read_lora_config
from entail.encoders.bert.model import Bert, LowRank, shared_bert
from entail.encoders.catalogue import TOWERS, EncoderEntry, Tower
from entail.encoders.device import Precision, dtype_of
from entail.encoders.gaussian.form import HEAD
from entail.encoders.stock import StockTowers
from entail.encoders.weights import open_tensors

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Tokens = tuple[int, ...] | str
"""Input that determines a vector: token ids, or the text, where the tokenizer depends on the tower."""


class BertTowers:
    """Towers of one BERT, each with an adapter of its own or none, and an optional head.

    Args:
        bert: The weights, which other encoders may share.
        adapters: Adapter of each tower, empty for the base's weights.
        head: Weight and bias of a linear map from d hidden to 2 d: means, then log variances.
    """

    def __init__(
        self,
        bert: Bert,
        adapters: Mapping[Tower, LowRank],
        *,
        head: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        self.bert, self._adapters, self._head = bert, adapters, head

    @property
    def dimension(self) -> int:
        """Length of a vector, d; 2 d with a head."""
        return self.bert.config.dimension if self._head is None else len(self._head[0])

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the token ids of each text."""
        return [tuple(ids) for ids in self.bert.tokens(texts)]

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is truncated."""
        return self.bert.cut(texts)

    def encode(self, texts: Sequence[str], tower: Tower) -> NDArray[np.float32]:
        """Return vectors of any length, with a head means and log variances, shape (texts, d)."""
        import torch

        with torch.inference_mode():
            x = self.bert.encode(texts, self._adapters[tower])
            if self._head is not None:
                x = torch.nn.functional.linear(x, *self._head)
            vectors: NDArray[np.float32] = x.cpu().numpy()
            return vectors


Towers = BertTowers | StockTowers
"""Encoder of a batch by one of two towers."""


def load_towers(entry: EncoderEntry, *, device: str, precision: Precision) -> Towers:
    """Load an entry's weights; encoders on one base share its weights.

    Raises:
        EncoderError: If they cannot be loaded.
    """
    dtype = dtype_of(precision, device)
    return _bert_towers(entry, device, dtype) or StockTowers(entry, device=device, dtype=dtype)


def _bert_towers(entry: EncoderEntry, device: str, dtype: torch.dtype) -> BertTowers | None:
    """Return the towers of an entry on a plain BERT, None for any other model."""
    import torch

    if entry.own_modules:
        return None
    whole = entry.base or entry
    config = read_bert(whole.path) if whole.path is not None else None
    folders = {folder for tower in TOWERS if (folder := entry.adapter(tower)) is not None}
    loras = {folder: read_lora_config(folder) for folder in folders}
    form, folder = entry.gaussian, entry.adapter("query")
    if config is None or None in loras.values():
        return None
    if form is not None and (folder is None or config.pooling != form.pooling):
        return None
    bert = shared_bert(
        config, name=whole.name, revision=whole.revision or str(whole.path), device=device, dtype=dtype
    )
    adapters: dict[Path | None, LowRank | None] = {None: {}}
    adapters |= {folder: read_lora(lora, bert, name=entry.name) for folder, lora in loras.items() if lora}
    query, premise = (adapters[entry.adapter(tower)] for tower in TOWERS)
    if query is None or premise is None:
        return None
    head = None
    if form is not None and folder is not None:
        path, d = folder / HEAD / "model.safetensors", config.dimension
        with open_tensors(path, name=entry.name, device=device, dtype=torch.float32) as tensors:
            head = tensors.get("linear.weight", 2 * d, d), tensors.get("linear.bias", 2 * d)
    return BertTowers(bert, {"query": query, "premise": premise}, head=head)
