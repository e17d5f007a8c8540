"""Scores of pairs by two vectors: the adapter encodes the prefix, the unchanged base the candidate.

The score of a candidate is w m + b + g cos(m, p). m is the mean of its states under the base, p the mean of
the prefix's states under the adapted base. Neither text attends to the other, so each is encoded once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from entail.arcf.scoring.inputs import by_prefix
from entail.cancellation import cancellable
from entail.encoders.bert.model import mean_of
from entail.encoders.cross.pairs import Frame, Ids, Pair, Tokenize
from entail.encoders.row_batches import budget_of, pad_rows, token_batches
from entail.index.protocol import Floats, Ints

if TYPE_CHECKING:
    from torch import Tensor

Forward = Callable[["Tensor", "Tensor | None"], "Tensor"]
"""Token ids and the mask of those that are not padding (None: all) -> states, (rows, tokens, d)."""

CACHED_CANDIDATES = 1 << 19
"""Candidates whose vectors are cached: 800 MB of MiniLM's in fp32."""

_CACHED_PREFIXES = 16


class Head(NamedTuple):
    """Parameters that turn two vectors into a score: w (1, d), b (1,) and g (1,)."""

    weight: Tensor
    bias: Tensor
    scale: Tensor

    def scores(self, candidates: Tensor, prefix: Tensor) -> Tensor:
        """Return the scores of candidates (rows, d) after a prefix (d,), shape (rows,)."""
        from torch.nn.functional import cosine_similarity, linear

        plain = linear(candidates, self.weight, self.bias)[:, 0]  # (rows,)
        return plain + self.scale * cosine_similarity(candidates, prefix[None], dim=-1)


def transformer_forward(transformer: Any) -> Forward:
    """Return the forward pass of a model of transformers."""

    def forward(ids: Tensor, attention: Tensor | None) -> Tensor:
        states: Tensor = transformer(input_ids=ids, attention_mask=attention).last_hidden_state
        return states

    return forward


class RowEncoder:
    """Mean vectors of texts given as token ids, `budget` tokens per forward pass."""

    def __init__(self, forward: Forward, *, frame: Frame, device: str, budget: int) -> None:
        self._forward, self._frame, self._device = forward, frame, device
        self._budget = budget

    def batches(self, texts: Sequence[Ids]) -> list[tuple[Ints, Tensor]]:
        """Return positions and fp32 vectors (rows, d) of texts, batch by batch, with their gradient."""
        rows = [(*self._frame.head, *ids, *self._frame.tail) for ids in texts]
        batches = token_batches([len(row) for row in rows], budget=self._budget)
        return [(batch, self._encode([rows[i] for i in batch])) for batch in cancellable(batches)]

    def _encode(self, texts: Sequence[Ids]) -> Tensor:
        import torch

        rows, mask = pad_rows(texts, self._frame.padding)
        attention = None if mask.all() else torch.from_numpy(mask).to(self._device)
        return mean_of(self._forward(torch.from_numpy(rows).to(self._device), attention), attention)


class VectorCache:
    """Least-recently-used cache of at most `size` vectors of texts, without gradient; safe for threads."""

    def __init__(self, encoder: RowEncoder, *, size: int = CACHED_CANDIDATES) -> None:
        self._encoder, self._size = encoder, size
        self._vectors: OrderedDict[Ids, Tensor] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._vectors)

    def vectors(self, texts: Sequence[Ids]) -> Tensor:
        """Return the vectors of texts, shape (texts, d)."""
        import torch

        with self._lock:
            vectors = {ids: vector for ids in texts if (vector := self._vectors.get(ids)) is not None}
            for ids in vectors:
                self._vectors.move_to_end(ids)
        new = [ids for ids in dict.fromkeys(texts) if ids not in vectors]
        # Tensors made in inference mode could not take part in a gradient later.
        with torch.inference_mode(mode=False), torch.no_grad():
            for batch, rows in self._encoder.batches(new):
                # A clone each: a view would keep its whole batch in memory.
                vectors |= {new[i]: row.clone() for i, row in zip(batch, rows, strict=True)}
        with self._lock:
            self._vectors |= {ids: vectors[ids] for ids in new}
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
        return torch.stack([vectors[ids] for ids in texts])


class BiEncoderScorer:
    """Scorer of prefix and candidate by their vectors, from the adapted and from the unchanged base.

    Any number of threads may score with it.
    """

    def __init__(
        self,
        prefixes: Forward,
        candidates: Forward,
        head: Head,
        *,
        tokenize: Tokenize,
        frame: Frame,
        max_length: int,
        device: str,
        budget: int | None = None,
        cached: int = CACHED_CANDIDATES,
    ) -> None:
        self._head = head
        self.tokenize, self.frame, self.max_length = tokenize, frame, max_length
        budget = budget or budget_of(device)

        def cache(forward: Forward, size: int) -> VectorCache:
            encoder = RowEncoder(forward, frame=frame, device=device, budget=budget)
            return VectorCache(encoder, size=size)

        self._prefixes = cache(prefixes, _CACHED_PREFIXES)
        self._candidates = cache(candidates, cached)

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return the score of each pair, shape (pairs,)."""
        import torch

        scores: Floats = np.empty(len(pairs), dtype=np.float32)
        if not pairs:
            return scores
        groups = by_prefix(pairs)
        with torch.inference_mode():
            prefixes = self._prefixes.vectors(list(groups))  # (prefixes, d)
            for prefix, positions in zip(prefixes, groups.values(), strict=True):
                candidates = self._candidates.vectors([pairs[i][1] for i in positions])  # (positions, d)
                scores[positions] = self._head.scores(candidates, prefix).cpu().numpy()
        return scores
