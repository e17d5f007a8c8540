"""A cross-encoder that was trained here: an adapter or a whole model, and a linear head, in one folder.

It reads two texts together and makes numbers of them, not vectors; what the numbers mean its method says
(`entail.json`). A base that is a plain BERT shares its weights with every encoder on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from entail.encoders.bert.folder import read_bert
from entail.encoders.bert.lora import read_lora, read_lora_config
from entail.encoders.bert.model import Bert, LowRank, shared_bert
from entail.encoders.card import Card
from entail.encoders.catalogue import EncoderEntry, fetch, model_folder, model_folders, resolve
from entail.encoders.cross.bert import CrossBert
from entail.encoders.cross.pairs import Frame, Pair, Tokenize, read_tokenizer
from entail.encoders.cross.stock import CrossStock
from entail.encoders.row_batches import Spent
from entail.encoders.tensors import open_tensors
from entail.encoders.weights import file_sha256, folder_digest
from entail.errors import EncoderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from torch import Tensor

Floats = NDArray[np.float32]

ADAPTER = "adapter"
"""Folder of a cross-encoder's adapter, within its own."""

WHOLE = "model"
"""Folder of a cross-encoder's weights where all were tuned, within its own."""

HEAD = "head.safetensors"
"""The linear map from a vector to the outputs: `weight` (outputs, d), `bias` (outputs,)."""


class PairScorer(Protocol):
    """Protocol of scorers of pairs of texts."""

    @property
    def tokenize(self) -> Tokenize:
        """Texts to token ids."""
        ...

    @property
    def frame(self) -> Frame:
        """The tokens around a pair."""
        ...

    @property
    def max_length(self) -> int:
        """Tokens of a row that are read."""
        ...

    @property
    def spent(self) -> Spent:
        """Passes and tokens so far."""
        ...

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return a score a pair, of several outputs the first; shape (pairs,)."""
        ...


class CrossEncoder(PairScorer, Protocol):
    """Protocol of models with several outputs for each pair of texts."""

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return all outputs of each pair, shape (pairs, outputs)."""
        ...


@dataclass(frozen=True)
class CrossParts:
    """Parts of a cross-encoder on disk.

    Attributes:
        folder: Its own.
        whole: The model it stands on.
        adapter: Folder of what was trained on that; None where every weight was.
    """

    folder: Path
    whole: EncoderEntry
    adapter: Path | None

    @property
    def name(self) -> str:
        """Name in messages."""
        return self.folder.name

    @property
    def revision(self) -> str:
        """Identity of its weights and of its base's."""
        base = f"+{self.whole.revision}" if self.adapter else ""
        return f"{self.name}@{folder_digest(self.folder)}{base}"

    @property
    def dimension(self) -> int:
        """Length of the vectors that the head takes, d.

        Raises:
            EncoderError: If the head cannot be read.
        """
        from safetensors import SafetensorError, safe_open

        head = self.folder / HEAD
        try:
            with safe_open(head, framework="pt") as opened:
                return int(opened.get_slice("weight").get_shape()[1])
        except (SafetensorError, OSError, IndexError) as error:
            raise EncoderError(f"{self.name}: expected a linear map in {head.name}, found {error}") from error


def cross_folder(name: str | Path) -> Path | None:
    """Return where a cross-encoder of this name is: a name under `models/`, or a folder; None if nowhere."""
    own = model_folder(name) if isinstance(name, str) else None
    given = Path(name).expanduser() if isinstance(name, Path) or "/" in name else None
    return next((place for place in (own, given) if place is not None and (place / HEAD).is_file()), None)


def cross_folders() -> list[Path]:
    """Return the folders under `models/` with a cross-encoder's head, by name."""
    return [folder for folder in model_folders() if (folder / HEAD).is_file()]


def cross_parts(folder: Path, card: Card) -> CrossParts:
    """Find what a cross-encoder is made of; a base on the Hub is fetched.

    Raises:
        EncoderError: If its base is not named, nowhere, or another one than it was trained on.
    """
    name = folder.name
    if not (folder / ADAPTER).is_dir():
        return CrossParts(folder, resolve(folder / WHOLE), None)
    if not card.base:
        raise EncoderError(f"{name}: expected the adapter's base in entail.json ('base'), found none")
    whole, trained_on = fetch(resolve(card.base)), card.base_revision
    if trained_on and whole.revision and trained_on.rpartition("@")[2] != whole.revision.rpartition("@")[2]:
        raise EncoderError(
            f"{name}: expected its base to be {trained_on}, which it was trained on, found {whole.revision}; "
            "name the right one as 'base' in entail.json, or train it anew"
        )
    return CrossParts(folder, whole, folder / ADAPTER)


@dataclass(frozen=True)
class PlainParts:
    """A base that is a plain BERT, and what an adapter adds to it."""

    bert: Bert
    added: LowRank
    tokenize: Tokenize
    frame: Frame


def plain_parts(parts: CrossParts, *, device: str, dtype: torch.dtype) -> PlainParts | None:
    """Bring base and adapter into memory as torch alone runs them; None if it cannot."""
    whole = parts.whole
    config = read_bert(whole.path) if whole.path is not None else None
    lora = read_lora_config(parts.adapter) if parts.adapter is not None else None
    if config is None or (parts.adapter is not None and lora is None):
        return None
    revision = whole.revision or file_sha256(config.folder / "model.safetensors")
    bert = shared_bert(config, name=whole.name, revision=revision, device=device, dtype=dtype)
    added = read_lora(lora, bert, name=parts.name) if lora is not None else {}
    if added is None:
        return None
    told = (config.folder / "tokenizer.json").read_text(encoding="utf-8")
    tokenize, frame = read_tokenizer(told, name=whole.name, padding=config.padding)
    return PlainParts(bert, added, tokenize, frame)


def stock_model(parts: CrossParts, *, device: str, dtype: torch.dtype) -> Any:  # noqa: ANN401 - imported late
    """Bring base and adapter into memory as sentence-transformers runs them, its own pooling left out."""
    from entail.encoders.stock import sentence_transformer, without_head

    model = without_head(sentence_transformer(parts.whole, device=device), pooling="cls")
    if parts.adapter is not None:
        model.load_adapter(str(parts.adapter))
    return model.float().to(dtype)


def load_cross(
    parts: CrossParts,
    head: tuple[Tensor, Tensor],
    *,
    max_length: int,
    device: str,
    dtype: torch.dtype,
    budget: int | None = None,
    stock: bool = False,
) -> CrossEncoder:
    """Bring a cross-encoder into memory: by torch alone where that can run it, else by transformers.

    Args:
        parts: What it is made of.
        head: Weight (outputs, d) and bias (outputs,), fp32.
        max_length: Tokens of a row.
        device: A torch device.
        dtype: Precision of the vectors.
        budget: Tokens of a forward pass; default: by device.
        stock: Whether to run it by transformers in any case.

    Raises:
        EncoderError: If weights are damaged or of another base.
    """
    plain = None if stock else plain_parts(parts, device=device, dtype=dtype)
    if plain is None:
        model = stock_model(parts, device=device, dtype=dtype)
        return CrossStock(model, head, name=parts.name, max_length=max_length, budget=budget)
    config = plain.bert.config
    path = config.folder / "model.safetensors"
    with open_tensors(path, name=parts.whole.name, device=device, dtype=dtype, prefix="bert.") as tensors:
        kinds = tensors.get("embeddings.token_type_embeddings.weight", None, config.dimension)
    return CrossBert(
        plain.bert,
        plain.added,
        kinds=kinds,
        head=head,
        tokenize=plain.tokenize,
        frame=plain.frame,
        max_length=max_length,
        budget=budget,
    )
