"""Cross-encoders: an adapter or a whole model, and a linear head from two texts to numbers.

A plain BERT is run by torch alone and shares its weights with every encoder on it; any other transformer is
run by transformers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.cancellation import cancellable
from entail.encoders.bert.folder import read_bert
from entail.encoders.bert.lora import merge_adapter, read_lora, read_lora_config
from entail.encoders.bert.model import Bert, LowRank, shared_bert
from entail.encoders.card import Card, read_card
from entail.encoders.catalogue import EncoderEntry, check_base, fetch, model_folder, model_folders, resolve
from entail.encoders.cross.pairs import Frame, Pair, Tokenizer, read_tokenizer, wrap_tokenizer
from entail.encoders.row_batches import Booleans, Ints, budget_of, pad_rows, token_batches
from entail.encoders.stock import load_adapter, replace_head, sentence_transformer
from entail.encoders.weights import check_safe, file_sha256, folder_digest, open_tensors
from entail.errors import EncoderError, UnknownEncoderError
from entail.settings import expand_home

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Floats = NDArray[np.float32]

ADAPTER = "adapter"
"""Folder of a cross-encoder's adapter, within its own."""

WHOLE = "model"
"""Folder of a cross-encoder's whole tuned weights, within its own."""

HEAD = "head.safetensors"
"""Linear map from a vector to the outputs: `weight` (outputs, d), `bias` (outputs,)."""


@dataclass(frozen=True)
class CrossParts:
    """Parts of a cross-encoder on disk: `whole` is its base, or its whole model without an `adapter`."""

    folder: Path
    whole: EncoderEntry
    adapter: Path | None

    @property
    def name(self) -> str:
        """Name in messages."""
        return self.folder.name

    @property
    def revision(self) -> str:
        """Revision of its weights and of its base's."""
        base = f"+{self.whole.revision}" if self.adapter else ""
        return f"{self.name}@{folder_digest(self.folder)}{base}"


def cross_folder(name: str | Path) -> Path | None:
    """Return the folder of a cross-encoder by its name under `models/` or its path, None if there is none."""
    own = model_folder(name) if isinstance(name, str) else None
    path = Path(expand_home(str(name))) if isinstance(name, Path) or "/" in name else None
    return next((folder for folder in (own, path) if folder and (folder / HEAD).is_file()), None)


def cross_folders() -> list[Path]:
    """Return the folders under `models/` with a cross-encoder's head, by name."""
    return [folder for folder in model_folders() if (folder / HEAD).is_file()]


def list_cross(method: str, *, first: str) -> list[tuple[Path, Card]]:
    """Return the folders and cards of a method's cross-encoders under `models/`: one first, then by name."""
    pairs = []
    for folder in sorted(cross_folders(), key=lambda folder: (folder.name != first, folder.name)):
        with contextlib.suppress(EncoderError, OSError):  # damaged, or being replaced
            card = read_card(folder, folder.name)
            if card is not None and card.method == method:
                pairs.append((folder, card))
    return pairs


def open_cross(model: str | Path, method: str, *, first: str) -> tuple[CrossParts, Card]:
    """Return the parts and the card of a method's cross-encoder by its name or folder, checked to be safe.

    Raises:
        UnknownEncoderError: If there is no such folder.
        EncoderError: If it is another method's, unsafe, or its base is missing.
    """
    folder = cross_folder(model)
    available = ", ".join(own.name for own, _ in list_cross(method, first=first)) or "none"
    if folder is None:
        raise UnknownEncoderError(
            f"{str(model)!r}: expected a model by `entail train {method}`, found none of that name; "
            f"available: {available}"
        )
    card = read_card(folder, folder.name)
    if card is None or card.method != method:
        raise EncoderError(
            f"{folder.name}: expected a model by `entail train {method}`, found another one; available: "
            f"{available}"
        )
    check_safe(folder, folder.name)
    return cross_parts(folder, card), card


def cross_parts(folder: Path, card: Card, *, download: bool = True) -> CrossParts:
    """Return the parts of a cross-encoder; a base on the Hub is fetched, or without `download` looked up.

    Raises:
        EncoderError: If its base is not named, missing, or another one than it was trained on.
    """
    name = folder.name
    if not (folder / ADAPTER).is_dir():
        return CrossParts(folder, resolve(folder / WHOLE), None)
    if not card.base:
        raise EncoderError(f"{name}: expected the adapter's base in entail.json ('base'), found none")
    whole = fetch(resolve(card.base), download=download)
    check_base(card.base_revision, whole, of=name)
    return CrossParts(folder, whole, folder / ADAPTER)


@dataclass(frozen=True)
class PlainParts:
    """A base that is a plain BERT, its adapter (empty for a whole model) and tokenizer."""

    bert: Bert
    added: LowRank
    tokenize: Tokenizer
    frame: Frame


def plain_parts(parts: CrossParts, *, device: str, dtype: torch.dtype) -> PlainParts | None:
    """Load base and adapter for torch alone; None if it cannot run them."""
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
    content = (config.folder / "tokenizer.json").read_text(encoding="utf-8")
    tokenize, frame = read_tokenizer(content, name=whole.name, padding=config.padding)
    return PlainParts(bert, added, tokenize, frame)


def stock_transformer(parts: CrossParts, *, device: str, dtype: torch.dtype) -> Any:
    """Load base and adapter by sentence-transformers; return its transformer, with its tokenizer."""
    model = replace_head(sentence_transformer(parts.whole, device=device), pooling="cls")
    if parts.adapter is not None:
        load_adapter(model, parts.adapter, name=parts.name)
    return next(iter(model.float().to(dtype).eval().children()))


def load_cross(
    parts: CrossParts,
    *,
    max_length: int,
    device: str,
    outputs: int = 1,
    every_token: bool = False,
    dtype: torch.dtype | None = None,
    budget: int | None = None,
) -> CrossEncoder:
    """Load a cross-encoder and the weight (outputs, d) and bias (outputs,) of its head, in fp32 by default.

    It is run by torch alone if that can run it, else by transformers. The head reads the vector of the first
    token, or of every token.

    Raises:
        EncoderError: If weights are damaged or of another base.
    """
    import torch

    dtype = dtype or torch.float32
    plain = plain_parts(parts, device=device, dtype=dtype)
    if plain is None:
        first = stock_transformer(parts, device=device, dtype=dtype)
        tokenize, frame = wrap_tokenizer(first.tokenizer, name=parts.name)
        d = first.get_embedding_dimension()
        forward = transformer_forward(first.auto_model, typed=frame.typed, every_token=every_token)
    else:
        tokenize, frame, config = plain.tokenize, plain.frame, plain.bert.config
        d, max_length, kinds = config.dimension, min(max_length, config.positions), None
        if frame.typed:
            path, name = config.folder / "model.safetensors", parts.whole.name
            with open_tensors(path, name=name, device=device, dtype=dtype, prefix="bert.") as tensors:
                kinds = tensors.get("embeddings.token_type_embeddings.weight", None, d)
        forward = bert_forward(plain.bert, plain.added, kinds, every_token=every_token)
    with open_tensors(parts.folder / HEAD, name=parts.name, device=device, dtype=torch.float32) as tensors:
        head = tensors.get("weight", outputs, d), tensors.get("bias", outputs)
    return CrossEncoder(forward, head, tokenize=tokenize, frame=frame, max_length=max_length, budget=budget)


CrossForward = Callable[[Ints, Booleans, Booleans], "Tensor"]
"""Token ids, mask of what is not padding, mask of the second text, each (rows, tokens) -> vectors of the
first token, (rows, d), or of every token, (rows, tokens, d), or the outputs made from them, in fp32."""


class CrossEncoder:
    """Two texts read together, to one output or more.

    The head is a linear map in fp32: weight (outputs, d), bias (outputs,). A forward pass has about `budget`
    tokens, by default by device. Any number of threads may use it.
    """

    def __init__(
        self,
        forward: CrossForward,
        head: tuple[Tensor, Tensor],
        *,
        tokenize: Tokenizer,
        frame: Frame,
        max_length: int,
        budget: int | None = None,
    ) -> None:
        self._forward, self._head = forward, head
        self.tokenize, self.frame, self.max_length = tokenize, frame, max_length
        self.budget = budget or budget_of(head[0].device.type)

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return the first output of each pair, shape (pairs,)."""
        return self.values(pairs)[:, 0]

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return all outputs of each pair, shape (pairs, outputs).

        With a head on every token, shape (pairs, tokens, outputs), 0 beyond the row of a pair.
        """
        import torch
        from torch.nn.functional import linear

        if not pairs:
            return np.empty((0, len(self._head[1])), dtype=np.float32)

        def outputs(ids: Ints, mask: Booleans, second: Booleans) -> Tensor:
            return linear(self._forward(ids, mask, second), *self._head)

        with torch.inference_mode():
            logits = cross_outputs(outputs, pairs, frame=self.frame, budget=self.budget)
            values: Floats = logits.cpu().numpy()
            return values


def cross_outputs(forward: CrossForward, pairs: Sequence[Pair], *, frame: Frame, budget: int) -> Tensor:
    """Return what a forward pass makes of one pair or more, in order, filled to the longest row."""
    import torch
    from torch.nn.functional import pad

    rows = [frame.row(pair) for pair in pairs]
    lengths = [len(row) for row in rows]
    batches = token_batches(lengths, budget=budget)
    parts = []
    for batch in cancellable(batches):
        ids, mask = pad_rows([rows[i] for i in batch], frame.padding)
        first = np.array([[frame.first(pairs[i])] for i in batch])
        part = forward(ids, mask, mask & (np.arange(ids.shape[1]) >= first))
        parts.append(part if part.ndim == 2 else pad(part, (0, 0, 0, max(lengths) - ids.shape[1])))
    outputs = torch.cat(parts)
    return outputs[torch.from_numpy(np.argsort(np.concatenate(batches))).to(outputs.device)]


def bert_forward(
    bert: Bert, adapter: LowRank, kinds: Tensor | None, *, every_token: bool = False
) -> CrossForward:
    """Return the forward pass of a plain BERT, its adapter merged.

    The last layer is computed for the first token only, or for every token. `kinds` has the vectors of the
    two token types, (2, d); None where texts have no type.
    """
    import torch

    linears = merge_adapter(bert, adapter)
    # The base's positions include the first type's vector.
    change = None if kinds is None else kinds[1] - kinds[0]

    def forward(ids: Ints, mask: Booleans, second: Booleans) -> Tensor:
        tokens, attention, typed = (torch.from_numpy(array).to(bert.device) for array in (ids, mask, second))
        states = bert.states(
            tokens,
            None if mask.all() else attention,
            linears=linears,
            kinds=None if change is None else typed[:, :, None] * change,
            first_only=not every_token,
        )
        return states.float() if every_token else states[:, 0].float()

    return forward


def transformer_forward(
    transformer: Any,
    *,
    typed: bool,
    autocast: torch.dtype | None = None,
    every_token: bool = False,
) -> CrossForward:
    """Return the forward pass of a model of transformers, which may take token types."""
    import torch

    def forward(ids: Ints, mask: Booleans, second: Booleans) -> Tensor:
        inputs = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
        if typed:
            inputs["token_type_ids"] = second.astype(np.int64)
        device = transformer.device
        with torch.autocast(device.type, dtype=autocast, enabled=autocast is not None):
            states = transformer(
                **{name: torch.from_numpy(array).to(device) for name, array in inputs.items()}
            )
        vectors: Tensor = states.last_hidden_state
        return (vectors if every_token else vectors[:, 0]).float()

    return forward
