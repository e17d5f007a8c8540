"""What the lower layers make of candidates, computed once each and kept: they read nothing but themselves."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from entail.arcf.split import Layers, candidate_rows, candidate_tokens, mean_of, read_alone
from entail.encoders.pairs import Frame, Ids
from entail.encoders.row_batches import Spent, token_batches

if TYPE_CHECKING:
    from torch import Tensor

STORE = 1 << 19
"""Tokens of candidates that are kept: 800 MB of MiniLM's in fp32, some 35,000 facts."""


class LowerStates:
    """States of candidates below the layers in which they read a prefix; any number of threads may ask.

    Beyond `store` tokens those not asked for longest go. Where all layers are lower ones nothing is read on,
    and of a candidate's states their mean is kept alone.

    Args:
        layers: The maps.
        alone: How many are the lower ones.
        frame: The tokens around a text.
        device: Where the weights are.
        budget: Tokens of a forward pass.
        spent: Where it is counted what was computed.
        store: Tokens that are kept.
    """

    def __init__(
        self,
        layers: Layers,
        *,
        alone: int,
        frame: Frame,
        device: str,
        budget: int,
        spent: Spent,
        store: int = STORE,
    ) -> None:
        self._layers, self._alone, self._frame = layers, alone, frame
        self._device, self._budget, self._spent = device, budget, spent
        self._most, self._held = store, 0
        self._kept: OrderedDict[Ids, Tensor] = OrderedDict()
        self._keeping = threading.Lock()

    @property
    def held(self) -> int:
        """Tokens that are kept now."""
        return self._held

    def of(self, candidates: Sequence[Ids]) -> list[Tensor]:
        """Return the states of candidates, each (its tokens, d) or (1, d), without gradient."""
        import torch

        with self._keeping:
            there = {ids: states for ids in candidates if (states := self._kept.get(ids)) is not None}
            for ids in there:
                self._kept.move_to_end(ids)
        new = [ids for ids in dict.fromkeys(candidates) if ids not in there]
        lengths = [candidate_tokens(ids, self._frame) for ids in new]
        for some in token_batches(lengths, budget=self._budget):
            rows, _ = candidate_rows([new[i] for i in some], self._frame)
            mask = known([lengths[i] for i in some], rows.shape[1], device=self._device)
            # Tensors of inference mode could not be learnt from later.
            with torch.inference_mode(mode=False), torch.no_grad():
                tokens = torch.from_numpy(rows).to(self._device)
                x = read_alone(self._layers, tokens, mask, alone=self._alone)  # (some, tokens, d)
                if self._alone == self._layers.depth:
                    x = mean_of(x, mask)[:, None]
            self._spent.add(len(some), sum(lengths[i] for i in some), rows.size)
            for i, states in zip(some, x, strict=True):
                there[new[i]] = states[: lengths[i]].clone()  # else all of the batch would stay
        with self._keeping:
            for ids in new:
                self._held += 0 if ids in self._kept else len(there[ids])
                self._kept[ids] = there[ids]
            while self._held > self._most and self._kept:
                self._held -= len(self._kept.popitem(last=False)[1])
        return [there[ids] for ids in candidates]


def known(lengths: Sequence[int], longest: int, *, device: str) -> Tensor | None:
    """Return which tokens of rows are no padding, (rows, longest); None where all are.

    >>> known([1, 2], 2, device="cpu").tolist(), known([2, 2], 2, device="cpu")
    ([[True, False], [True, True]], None)
    """
    import torch

    if min(lengths) == longest:
        return None
    place = torch.arange(longest, device=device)
    return place < torch.tensor(lengths, device=device)[:, None]
