"""An encoder's two towers in memory: by torch alone where that will do, else by sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from entail.encoders.bert import Bert, shared_bert
from entail.encoders.bert_folder import read_bert
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.stock import StockTowers

if TYPE_CHECKING:
    import torch

Tower = Literal["query", "premise"]


class Towers(Protocol):
    """What encodes a batch of texts by one of two towers."""

    @property
    def dimension(self) -> int:
        """Length of a vector, d."""
        ...

    def encode(self, texts: Sequence[str], tower: Tower) -> NDArray[np.float32]:
        """Return vectors of any length, shape (texts, d)."""
        ...


class BertTowers:
    """Towers of one BERT."""

    def __init__(self, bert: Bert) -> None:
        self.bert = bert

    @property
    def dimension(self) -> int:
        """Length of a vector, d."""
        return self.bert.config.dimension

    def encode(self, texts: Sequence[str], tower: Tower) -> NDArray[np.float32]:
        """Return vectors of any length, shape (texts, d)."""
        found: NDArray[np.float32] = self.bert.encode(texts).cpu().numpy()
        return found


def load_towers(entry: EncoderEntry, *, device: str, dtype: torch.dtype) -> Towers:
    """Bring an entry's weights into memory; those of a base are shared with every other encoder on it.

    Raises:
        EncoderError: If they cannot be loaded.
    """
    config = read_bert(entry.path) if entry.path is not None and entry.base is None else None
    if config is None:
        return StockTowers(entry, device=device, dtype=dtype)
    bert = shared_bert(
        config, name=entry.name, revision=entry.revision or str(entry.path), device=device, dtype=dtype
    )
    return BertTowers(bert)
