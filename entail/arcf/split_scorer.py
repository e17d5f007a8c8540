"""Pairs scored by a scorer that reads prefix and candidate apart: what was read once is kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from entail.arcf.inputs import by_prefix
from entail.arcf.split import (
    Head,
    Layers,
    PrefixStates,
    prefix_row,
    read_onto,
    read_prefix,
    scores_of,
)
from entail.arcf.split_store import STORE, LowerStates, known
from entail.encoders.pairs import Frame, Ids, Pair, Tokenize
from entail.encoders.row_batches import Spent, budget_of, token_batches
from entail.index.protocol import Floats

PREFIXES = 16
"""Prefixes whose states are kept: under a megabyte each."""


class SplitScorer:
    """Scores candidates that read a prefix in the upper layers alone (`entail.arcf.split`).

    Lower states of a candidate are computed once and kept; beyond `store` tokens those not asked for longest
    go. Any number of threads may score with it; the counts of `spent` are then rough.

    Args:
        layers: The maps.
        head: w, b and g, fp32.
        lower: The maps by which candidates read themselves, where those are others; None: the same.
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
        lower: Layers | None = None,
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
        self._device = device
        self._lower = LowerStates(
            lower or layers,
            alone=alone,
            frame=frame,
            device=device,
            budget=self.budget,
            spent=self.spent,
            store=store,
        )
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
                lower = self._lower.of(candidates)
                lengths = [len(states) for states in lower]
                for some in token_batches(lengths, budget=self.budget):
                    x = torch.nn.utils.rnn.pad_sequence([lower[i] for i in some], batch_first=True)
                    mask = known([lengths[i] for i in some], x.shape[1], device=self._device)
                    mean = read_onto(self._layers, x, mask, prefix, alone=self._alone)
                    at = [places[i] for i in some]
                    found[at] = scores_of(mean, prefix, self._head).float().cpu().numpy()
                    if self._alone < self._layers.depth:
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
