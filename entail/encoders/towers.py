"""An encoder's two towers in memory: by torch alone where that will do, else by sentence-transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from entail.encoders.bert.folder import read_bert
from entail.encoders.bert.lora import read_lora, read_lora_config
from entail.encoders.bert.model import Bert, LowRank, shared_bert
from entail.encoders.bert.openvino import OpenvinoBert
from entail.encoders.catalogue import TOWERS, EncoderEntry, Tower
from entail.encoders.device import Memory, Precision, dtype_of
from entail.encoders.gaussian.form import HEAD, GaussianForm
from entail.encoders.stock import StockTowers
from entail.encoders.tensors import open_tensors
from entail.errors import EncoderError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Tokens = tuple[int, ...] | str
"""All that a vector may depend on: token ids, or the text, where the tokenizer depends on the tower."""


class Towers(Protocol):
    """Protocol of encoders of a batch by one of two towers."""

    @property
    def memory(self) -> Memory:
        """Memory of its weights."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector, d."""
        ...

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Return what the tokenizer makes of each text: all that a vector may depend on."""
        ...

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is truncated."""
        ...

    def encode(self, texts: Sequence[str], tower: Tower) -> NDArray[np.float32]:
        """Return vectors of any length, shape (texts, d)."""
        ...


class BertTowers:
    """Towers of one BERT, each with an adapter of its own or none.

    Args:
        bert: The weights, which others may use too.
        query: Adapter of the query tower, empty for the weights as they are.
        premise: Adapter of the premise tower.
    """

    def __init__(self, bert: Bert, *, query: LowRank, premise: LowRank) -> None:
        self.bert = bert
        self._adapters: Mapping[Tower, LowRank] = {"query": query, "premise": premise}

    @property
    def memory(self) -> Memory:
        """Memory of its adapters, and of the shared BERT."""
        added = [tensor for one in self._adapters.values() for pair in one.values() for tensor in pair]
        distinct = {id(tensor): tensor for tensor in added}.values()
        return Memory(own=sum(t.nbytes for t in distinct), shared=sum(t.nbytes for t in self.bert.weights))

    @property
    def dimension(self) -> int:
        """Length of a vector, d."""
        return self.bert.config.dimension

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the token ids of each text."""
        return [tuple(ids) for ids in self.bert.tokens(texts)]

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is truncated."""
        return self.bert.cut(texts)

    def encode(self, texts: Sequence[str], tower: Tower) -> NDArray[np.float32]:
        """Return vectors of any length, shape (texts, d)."""
        found: NDArray[np.float32] = self.bert.encode(texts, self._adapters[tower]).cpu().numpy()
        return found


class OpenvinoTowers(BertTowers):
    """Towers of one BERT that OpenVINO runs; its copies of the weights are not in `memory`.

    Args:
        bert: The weights, on the processor, in fp32.
        query: Adapter of the query tower, empty for the weights as they are.
        premise: Adapter of the premise tower.

    Raises:
        EncoderError: If OpenVINO is not installed, or cannot compile the model.
    """

    def __init__(self, bert: Bert, *, query: LowRank, premise: LowRank) -> None:
        super().__init__(bert, query=query, premise=premise)
        of_query = OpenvinoBert(bert, query)
        of_premise = of_query if premise is query else OpenvinoBert(bert, premise)
        self._compiled: Mapping[Tower, OpenvinoBert] = {"query": of_query, "premise": of_premise}

    def encode(self, texts: Sequence[str], tower: Tower) -> NDArray[np.float32]:
        """Return vectors of any length, shape (texts, d)."""
        return self._compiled[tower].encode(texts)


class GaussianTowers:
    """A tower of one BERT with a linear map behind it, from d hidden to 2 d: means, then log variances.

    Args:
        hidden: What makes the hidden vectors.
        head: Its weight, shape (2 d, d), and its bias.
    """

    def __init__(self, hidden: BertTowers, head: tuple[Tensor, Tensor]) -> None:
        self._hidden, self._head = hidden, head

    @property
    def memory(self) -> Memory:
        """Memory of adapter and head, and of the shared BERT."""
        beside = self._hidden.memory
        return Memory(own=beside.own + sum(t.nbytes for t in self._head), shared=beside.shared)

    @property
    def dimension(self) -> int:
        """Numbers a text, 2 d."""
        return len(self._head[0])

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the token ids of each text."""
        return self._hidden.tokens(texts)

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is truncated."""
        return self._hidden.cut(texts)

    def encode(self, texts: Sequence[str], tower: Tower) -> NDArray[np.float32]:
        """Return means and log variances, shape (texts, 2 d)."""
        import torch

        with torch.inference_mode():
            hidden = torch.from_numpy(self._hidden.encode(texts, tower)).to(self._head[0].device)
            found: NDArray[np.float32] = torch.nn.functional.linear(hidden, *self._head).cpu().numpy()
            return found


def load_towers(entry: EncoderEntry, *, device: str, precision: Precision) -> Towers:
    """Bring an entry's weights into memory; those of a base are shared with every other encoder on it.

    Raises:
        EncoderError: If they cannot be loaded, or OpenVINO is asked for and cannot run them.
        SettingsError: If OpenVINO is asked for on a GPU.
    """
    dtype = dtype_of(precision, device)
    found: Towers | None
    found = bert = _bert_towers(
        entry, device, dtype, kind=OpenvinoTowers if precision == "openvino" else BertTowers
    )
    if found is None and precision == "openvino":
        raise EncoderError(
            f"{entry.name}: expected a plain BERT for precision openvino, found a model of another kind; "
            "take precision bf16 or fp32"
        )
    if bert is not None and entry.gaussian is not None:
        found = _with_head(bert, entry, entry.gaussian)
    return found or StockTowers(entry, device=device, dtype=dtype)


def _with_head(hidden: BertTowers, entry: EncoderEntry, form: GaussianForm) -> GaussianTowers | None:
    import torch

    folder, d = entry.adapter("query"), hidden.dimension
    if folder is None or hidden.bert.config.pooling != form.pooling:
        return None
    path = folder / HEAD / "model.safetensors"
    with open_tensors(path, name=entry.name, device=hidden.bert.device, dtype=torch.float32) as tensors:
        head = tensors.get("linear.weight", 2 * d, d), tensors.get("linear.bias", 2 * d)
    return GaussianTowers(hidden, head)


def _bert_towers(
    entry: EncoderEntry, device: str, dtype: torch.dtype, *, kind: type[BertTowers]
) -> BertTowers | None:
    whole = entry.base or entry
    config = read_bert(whole.path) if whole.path is not None else None
    folders = {folder for tower in TOWERS if (folder := entry.adapter(tower)) is not None}
    loras = {folder: read_lora_config(folder) for folder in folders}
    if config is None or None in loras.values():
        return None
    bert = shared_bert(
        config, name=whole.name, revision=whole.revision or str(whole.path), device=device, dtype=dtype
    )
    adapters: dict[Path | None, LowRank | None] = {None: {}}
    adapters |= {folder: read_lora(lora, bert, name=entry.name) for folder, lora in loras.items() if lora}
    query, premise = (adapters[entry.adapter(tower)] for tower in TOWERS)
    return None if query is None or premise is None else kind(bert, query=query, premise=premise)
