"""Pairs scored by a scorer that reads prefix and candidate apart: what was read once is kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from entail.arcf.inputs import by_prefix
from entail.arcf.split import (
    Head,
    Layers,
    PrefixStates,
    candidate_rows,
    candidate_tokens,
    prefix_row,
    read_alone,
    read_onto,
    read_prefix,
    scores_of,
)
from entail.encoders.pairs import Frame, Ids, Pair, Tokenize
from entail.encoders.row_batches import Spent, budget_of, token_batches
from entail.index.protocol import Floats

if TYPE_CHECKING:
    from torch import Tensor

PREFIXES = 16
"""Prefixes whose states are kept: under a megabyte each."""

STORE = 1 << 19
"""Tokens of candidates whose lower states are kept: 800 MB of MiniLM's in fp32, some 35,000 facts."""


class SplitScorer:
    """Scores candidates that read a prefix in the upper layers alone (`entail.arcf.split`).

    Lower states of a candidate are computed once and kept; beyond `store` tokens those not asked for longest
    go. Any number of threads may score with it; the counts of `spent` are then rough.

    Args:
        layers: The maps.
        head: w, b and g, fp32.
        alone: Layers in which a candidate reads itself alone.
        tokenize: The base's.
        frame: The tokens around a text.
        longest: Tokens of a prefix and a candidate.
        device: Where the weights are.
        budget: Tokens of a forward pass; default: by device.
        store: Tokens of candidates whose lower states are kept.
    """

    def __init__(
        self,
        layers: Layers,
        head: Head,
        *,
        alone: int,
        tokenize: Tokenize,
        frame: Frame,
        longest: int,
        device: str,
        budget: int | None = None,
        store: int = STORE,
    ) -> None:
        self._layers, self._head, self._alone = layers, head, alone
        self.tokenize, self.frame, self.longest = tokenize, frame, longest
        self.budget = budget or budget_of(device)
        self.spent = Spent()
        self._device, self._most, self._held = device, store, 0
        self._lower: OrderedDict[Ids, Tensor] = OrderedDict()  # a candidate -> its lower states, (tokens, d)
        self._prefixes: OrderedDict[Ids, PrefixStates] = OrderedDict()
        self._keeping = threading.Lock()

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return a score a pair, shape (pairs,)."""
        import torch

        found: Floats = np.empty(len(pairs), dtype=np.float32)
        with torch.inference_mode():
            for ids, places in by_prefix(pairs).items():
                prefix = self._prefix(ids)
                candidates = [pairs[place][1] for place in places]
                lower = self._read(candidates)
                lengths = [len(states) for states in lower]
                for some in token_batches(lengths, budget=self.budget):
                    x = torch.nn.utils.rnn.pad_sequence([lower[i] for i in some], batch_first=True)
                    known = self._known([lengths[i] for i in some], x.shape[1])
                    mean = read_onto(self._layers, x, known, prefix, alone=self._alone)
                    at = [places[i] for i in some]
                    found[at] = scores_of(mean, prefix, self._head).float().cpu().numpy()
                    self.spent.add(len(some), sum(lengths[i] for i in some), x.shape[0] * x.shape[1])
        return found

    def _prefix(self, ids: Ids) -> PrefixStates:
        import torch

        with self._keeping:
            if found := self._prefixes.get(ids):
                self._prefixes.move_to_end(ids)
                return found
        row = torch.tensor([prefix_row(ids, self.frame)], device=self._device)
        made = read_prefix(self._layers, row, alone=self._alone)
        self.spent.add(1, row.numel(), row.numel())
        with self._keeping:
            self._prefixes[ids] = made
            while len(self._prefixes) > PREFIXES:
                self._prefixes.popitem(last=False)
        return made

    def _read(self, candidates: Sequence[Ids]) -> list[Tensor]:
        """Return the lower states of candidates, of those that were never read as they are read now."""
        import torch

        with self._keeping:
            there = {ids: states for ids in candidates if (states := self._lower.get(ids)) is not None}
            for ids in there:
                self._lower.move_to_end(ids)
        new = [ids for ids in dict.fromkeys(candidates) if ids not in there]
        lengths = [candidate_tokens(ids, self.frame) for ids in new]
        for some in token_batches(lengths, budget=self.budget):
            rows, _ = candidate_rows([new[i] for i in some], self.frame)
            known = self._known([lengths[i] for i in some], rows.shape[1])
            tokens = torch.from_numpy(rows).to(self._device)
            x = read_alone(self._layers, tokens, known, alone=self._alone)  # (some, tokens, d)
            self.spent.add(len(some), sum(lengths[i] for i in some), rows.size)
            for i, states in zip(some, x, strict=True):
                there[new[i]] = states[: lengths[i]].clone()  # else all of the batch would stay
        with self._keeping:
            for ids in new:
                self._held += 0 if ids in self._lower else len(there[ids])
                self._lower[ids] = there[ids]
            while self._held > self._most and self._lower:
                self._held -= len(self._lower.popitem(last=False)[1])
        return [there[ids] for ids in candidates]

    def _known(self, lengths: Sequence[int], longest: int) -> Tensor | None:
        import torch

        if min(lengths) == longest:
            return None
        place = torch.arange(longest, device=self._device)
        return place < torch.tensor(lengths, device=self._device)[:, None]
