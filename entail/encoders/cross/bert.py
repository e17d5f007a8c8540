"""Pairs of texts read by a plain BERT in torch alone: adapter merged, the last layer for one token only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from entail.encoders.bert.lora import merged
from entail.encoders.bert.model import Bert, LowRank
from entail.encoders.cross.pairs import Frame, Pair, Tokenize
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
        max_length: Tokens of a row.
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
        max_length: int,
        budget: int | None = None,
    ) -> None:
        self._bert, self._head = bert, head
        self._second = kinds[1] - kinds[0]  # the base's positions hold the first type's vector already
        self._linears = merged(bert, adapter)
        self.tokenize, self.frame = tokenize, frame
        self.max_length = min(max_length, bert.config.positions)
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
                max_length = lengths[int(some[-1])]
                even = lengths[int(some[0])] == max_length
                ids = np.full((len(some), max_length), self.frame.padding, dtype=np.int64)
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
        from torch.nn.functional import linear

        device = self._bert.device
        place = torch.arange(ids.shape[1], device=device)
        kinds = None
        if self.frame.typed:
            kinds = (place >= torch.from_numpy(first).to(device))[:, :, None] * self._second
        x = self._bert.states(
            torch.from_numpy(ids).to(device),
            None if sizes is None else place < torch.from_numpy(sizes).to(device),
            linears=self._linears,
            kinds=kinds,
            first_only=True,
        )
        return linear(x[:, 0].float(), *self._head)  # (rows, outputs)
