"""Pairs of texts read by a plain BERT in torch alone: adapter merged, the last layer for one token only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.encoders.bert import ATTENTION, INNER, OUTER, OUTPUT, Bert, LowRank
from entail.encoders.lora import merged
from entail.encoders.pairs import Frame, Pair, Tokenize
from entail.encoders.row_batches import Spent, budget_of, token_batches

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]


class CrossBert:
    """A cross-encoder on a plain BERT.

    Any number of threads may read with it; the counts of `spent` are then rough.

    Args:
        bert: The base.
        adapter: Its LoRA, empty for weights that were tuned themselves.
        kinds: Vectors of the two token types, (2, d).
        head: Weight (outputs, d) and bias (outputs,), fp32.
        tokenize: The base's.
        frame: The tokens around a pair.
        longest: Tokens of a row.
        budget: Tokens of a forward pass; default: by device.
    """

    def __init__(
        self,
        bert: Bert,
        adapter: LowRank,
        *,
        kinds: Tensor,
        head: tuple[Tensor, Tensor],
        tokenize: Tokenize,
        frame: Frame,
        longest: int,
        budget: int | None = None,
    ) -> None:
        self._bert, self._head = bert, head
        self._second = kinds[1] - kinds[0]  # the base's positions hold the first type's vector already
        self._linears = merged(bert, adapter)
        self.tokenize, self.frame = tokenize, frame
        self.longest = min(longest, bert.config.positions)
        self.budget = budget or budget_of(bert.device)
        self.spent = Spent()

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return the first output of each pair, shape (pairs,): all that a head of one output has."""
        return self.values(pairs)[:, 0]

    def values(self, pairs: Sequence[Pair]) -> Floats:
        """Return what the head makes of each pair, shape (pairs, outputs)."""
        import torch

        rows = [self.frame.row(pair) for pair in pairs]
        lengths = [len(row) for row in rows]
        found: Floats = np.empty((len(rows), len(self._head[1])), dtype=np.float32)
        with torch.inference_mode():
            for some in token_batches(lengths, budget=self.budget):
                longest = lengths[int(some[-1])]
                even = lengths[int(some[0])] == longest
                ids = np.full((len(some), longest), self.frame.padding, dtype=np.int64)
                first = np.empty((len(some), 1), dtype=np.int64)
                for at, i in enumerate(some):
                    ids[at, : lengths[i]] = rows[i]
                    first[at] = self.frame.first(pairs[i])
                sizes = None if even else np.array([lengths[i] for i in some])[:, None]
                found[some] = self._forward(ids, first, sizes).cpu().numpy()
                self.spent.add(len(some), sum(lengths[i] for i in some), ids.size)
        return found

    def _forward(
        self, ids: np.ndarray[Any, Any], first: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any] | None
    ) -> Tensor:
        import torch
        from torch.nn.functional import embedding, linear

        bert, device = self._bert, self._bert.device
        tokens = torch.from_numpy(ids).to(device)  # (rows, tokens)
        place = torch.arange(ids.shape[1], device=device)
        x = embedding(tokens, bert.words) + bert.positions[: ids.shape[1]]  # (rows, tokens, d)
        if self.frame.typed:
            second = (place >= torch.from_numpy(first).to(device))[:, :, None]  # (rows, tokens, 1)
            x = x + second * self._second
        x = self._normed(x, "embeddings")
        mask = None
        if sizes is not None:
            mask = (place < torch.from_numpy(sizes).to(device))[:, None, None, :]  # (rows, 1, 1, tokens)
        *lower, last = bert.config.places
        for at in lower:
            x = self._layer(x, mask, at)
        x = self._layer(x, mask, last, first_only=True)  # (rows, 1, d)
        return linear(x[:, 0].float(), *self._head)  # (rows, outputs)

    def _layer(self, x: Tensor, mask: Tensor | None, at: str, *, first_only: bool = False) -> Tensor:
        from torch.nn.functional import gelu, linear, scaled_dot_product_attention

        rows, tokens, d = x.shape
        heads = self._bert.config.heads
        weight, bias = self._linears[at + ATTENTION]
        if first_only:
            query = linear(x[:, :1], weight[:d], bias[:d]).view(rows, 1, heads, -1).transpose(1, 2)
            both = linear(x, weight[d:], bias[d:]).view(rows, tokens, 2, heads, -1)
            key, value = both.permute(2, 0, 3, 1, 4)
            x = x[:, :1]
        else:
            query, key, value = (
                linear(x, weight, bias).view(rows, tokens, 3, heads, -1).permute(2, 0, 3, 1, 4)
            )  # each (rows, heads, tokens, d / heads)
        mixed = scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(rows, -1, d)
        x = self._normed(x + linear(mixed, *self._linears[at + OUTPUT]), at + OUTPUT)
        inner = gelu(linear(x, *self._linears[at + INNER]))
        return self._normed(x + linear(inner, *self._linears[at + OUTER]), at + OUTER)

    def _normed(self, x: Tensor, name: str) -> Tensor:
        from torch.nn.functional import layer_norm

        weight, bias = self._bert.norms[name]
        return layer_norm(x, weight.shape, weight, bias, self._bert.config.epsilon)
