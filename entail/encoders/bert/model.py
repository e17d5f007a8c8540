"""BERT with pooling in plain torch: the vectors of sentence-transformers without its import time.

A layer maps x, shape (texts, tokens, d), to

    a = norm(x + W_o attention(W_q x, W_k x, W_v x)),    x' = norm(a + W_2 gelu(W_1 a))

(Devlin et al. 2019; post-norm).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from entail.cancellation import cancellable
from entail.encoders.bert.folder import BertConfig
from entail.encoders.row_batches import pad_rows
from entail.encoders.weights import TensorFile, open_tensors

if TYPE_CHECKING:
    import torch
    from torch import Tensor

ATTENTION, OUTPUT, INNER, OUTER = "attention.self", "attention.output", "intermediate", "output"
"""The linear maps of a layer by the names of their tensors; the first is query, key and value in one."""

LowRank = Mapping[str, tuple["Tensor", "Tensor"]]
"""An adapter: two matrices, (r, inputs) and (outputs, r), by the linear map they are added to."""

Linears = Mapping[str, tuple["Tensor", "Tensor"]]
"""Weight (outputs, inputs) and bias (outputs,) of the linear maps, by name."""

_shared: WeakValueDictionary[tuple[str, str, str], Bert] = WeakValueDictionary()
_sharing = threading.Lock()


def shared_bert(config: BertConfig, *, name: str, revision: str, device: str, dtype: torch.dtype) -> Bert:
    """Return the one copy of a revision's weights on a device in a precision, freed with its last user."""
    key = (revision, device, str(dtype))
    with _sharing:
        bert = _shared.get(key)
        if bert is None:
            bert = _shared[key] = Bert(config, name=name, device=device, dtype=dtype)
        return bert


class Bert:
    """The weights of a BERT, read-only; any number of threads may encode with them.

    Raises:
        EncoderError: If the weights are damaged, or a tensor is missing or of another shape than configured.
    """

    def __init__(self, config: BertConfig, *, name: str, device: str, dtype: torch.dtype) -> None:
        import torch
        from tokenizers import Tokenizer

        self.config = config
        self.device = device
        self.dtype = dtype
        self._tokenizer = Tokenizer.from_file(str(config.folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(config.max_length, strategy="longest_first", direction="right")
        d, path = config.dimension, config.folder / "model.safetensors"
        with open_tensors(path, name=name, device=device, dtype=dtype, prefix="bert.") as tensors:
            self.words = tensors.get("embeddings.word_embeddings.weight", config.vocabulary, d)
            # Every token is of the first type, whose vector is a constant.
            kinds = tensors.get("embeddings.token_type_embeddings.weight", None, d)
            positions = tensors.get("embeddings.position_embeddings.weight", config.positions, d)
            self.positions = positions + kinds[0]
            self.norms = {"embeddings": _norm(tensors, "embeddings", d)}
            self.linears: dict[str, tuple[Tensor, Tensor]] = {}
            for at in config.layer_prefixes:
                parts = [
                    _linear(tensors, f"{at}{ATTENTION}.{part}", d, d) for part in ("query", "key", "value")
                ]
                weights, biases = zip(*parts, strict=True)
                self.linears[at + ATTENTION] = (torch.cat(weights), torch.cat(biases))
                self.linears[at + OUTPUT] = _linear(tensors, f"{at}{OUTPUT}.dense", d, d)
                self.linears[at + INNER] = _linear(tensors, f"{at}{INNER}.dense", config.inner, d)
                self.linears[at + OUTER] = _linear(tensors, f"{at}{OUTER}.dense", d, config.inner)
                self.norms[at + OUTPUT] = _norm(tensors, at + OUTPUT, d)
                self.norms[at + OUTER] = _norm(tensors, at + OUTER, d)

    def encode(self, texts: Sequence[str], adapter: LowRank | None = None) -> Tensor:
        """Return the pooled vectors of one text or more in fp32, of any length, shape (texts, d)."""
        import torch

        with torch.inference_mode():
            tokens, mask = self.tokenize(texts)  # both (texts, tokens)
            x = self.states(tokens, mask, adapter=adapter)  # (texts, tokens, d)
            return x[:, 0].float() if self.config.pooling == "cls" else mean_of(x, mask)

    def states(
        self,
        tokens: Tensor,
        mask: Tensor | None,
        *,
        adapter: LowRank | None = None,
        linears: Linears | None = None,
        kinds: Tensor | None = None,
        first_only: bool = False,
    ) -> Tensor:
        """Return the hidden states of the last layer, shape (texts, tokens, d).

        Args:
            tokens: Token ids, shape (texts, tokens).
            mask: Mask of the tokens that are not padding, same shape; None: all.
            adapter: Added to the linear maps at each call.
            linears: Linear maps in place of the base's, such as those of `merge_adapter`.
            kinds: Added to the embeddings, shape (texts, tokens, d); default: all tokens of the first type.
            first_only: Whether to compute only the first token's state, shape (texts, 1, d).
        """
        from torch.nn.functional import embedding

        x = embedding(tokens, self.words) + self.positions[: tokens.shape[1]]  # (texts, tokens, d)
        x = self._normed(x if kinds is None else x + kinds, "embeddings")
        attended = None if mask is None else mask[:, None, None, :]
        *lower, last = self.config.layer_prefixes
        maps = _Maps(linears or self.linears, adapter or {})
        for at in cancellable(lower):
            x = self._layer(x, attended, at, maps)
        return self._layer(x, attended, last, maps, first_only=first_only)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, truncated to the model's maximum length."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is truncated."""
        return [bool(encoding.overflowing) for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    def tokenize(self, texts: Sequence[str]) -> tuple[Tensor, Tensor | None]:
        """Return token ids and the mask of those that are not padding (None: all), both (texts, tokens)."""
        import torch

        rows, mask = pad_rows(self.tokens(texts), self.config.padding)
        tokens = torch.from_numpy(rows).to(self.device)
        return tokens, None if mask.all() else torch.from_numpy(mask).to(self.device)

    def _layer(
        self, x: Tensor, mask: Tensor | None, at: str, maps: _Maps, *, first_only: bool = False
    ) -> Tensor:
        from torch.nn.functional import gelu, scaled_dot_product_attention

        texts, tokens, d = x.shape
        heads = maps(x, at + ATTENTION).view(texts, tokens, 3, self.config.heads, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # each (texts, heads, tokens, d / heads)
        if first_only:
            query, x = query[:, :, :1], x[:, :1]
        mixed = scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(texts, -1, d)
        x = self._normed(x + maps(mixed, at + OUTPUT), at + OUTPUT)
        inner = gelu(maps(x, at + INNER))  # (texts, tokens, inner)
        return self._normed(x + maps(inner, at + OUTER), at + OUTER)

    def _normed(self, x: Tensor, name: str) -> Tensor:
        from torch.nn.functional import layer_norm

        weight, bias = self.norms[name]
        return layer_norm(x, weight.shape, weight, bias, self.config.epsilon)


class _Maps(NamedTuple):
    """Linear maps of a BERT with an adapter."""

    linears: Linears
    adapter: LowRank

    def __call__(self, x: Tensor, name: str) -> Tensor:
        """Return x through the map of this name."""
        from torch.nn.functional import linear

        y = linear(x, *self.linears[name])
        if name in self.adapter:
            down, up = self.adapter[name]
            y += linear(linear(x, down), up)
        return y


def mean_of(x: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mean of states x, (texts, tokens, d), where a mask is true, in fp32, shape (texts, d)."""
    import torch

    if mask is None:
        return x.mean(dim=1, dtype=torch.float32)
    weights = mask[:, :, None]  # (texts, tokens, 1)
    return (x * weights).sum(dim=1, dtype=torch.float32) / weights.sum(dim=1)


def _linear(tensors: TensorFile, name: str, outputs: int, inputs: int) -> tuple[Tensor, Tensor]:
    return tensors.get(f"{name}.weight", outputs, inputs), tensors.get(f"{name}.bias", outputs)


def _norm(tensors: TensorFile, name: str, size: int) -> tuple[Tensor, Tensor]:
    return tensors.get(f"{name}.LayerNorm.weight", size), tensors.get(f"{name}.LayerNorm.bias", size)
