"""Batches of texts of like length, in an order that depends on seed and epoch alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from entail.index.protocol import Ints

_WINDOW = 16


class BatchTask:
    """Part of a task that is the same for all methods (`entail.training.loop.task.Task`).

    Examples of like length in tokens share a batch. Nothing depends on the weights, so there is no state. The
    settings have a batch size and a seed.
    """

    def __init__(self, settings: Any, lengths: Sequence[int]) -> None:
        self._settings, self._lengths, self._epoch = settings, lengths, 0

    def begin_epoch(self, epoch: int) -> None:
        """Do nothing."""

    def batches(self, epoch: int) -> list[Ints]:
        """Return the batches of an epoch: indices of examples."""
        self._epoch = epoch
        size, seed = self._settings.batch_size, self._settings.seed
        return batches(self._lengths, batch_size=size, seed=seed, epoch=epoch)

    def steps(self, epochs: int) -> int:
        """Return the number of batches of all epochs."""
        size: int = self._settings.batch_size
        return epochs * -(-len(self._lengths) // size)

    def state(self) -> Mapping[str, Any]:
        """Return an empty state."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Do nothing."""


def batches(lengths: Sequence[int], *, batch_size: int, seed: int, epoch: int) -> list[Ints]:
    """Split all indices into batches: shuffled, sorted by length within windows, batches shuffled.

    There is little padding, yet every epoch combines other texts. A training resumed within an epoch gets
    the same batches.

    >>> [sorted(b.tolist()) for b in batches([1, 9, 1, 9], batch_size=2, seed=0, epoch=0)]
    [[1, 3], [0, 2]]
    """
    draw = np.random.default_rng((seed, epoch))
    order = draw.permutation(len(lengths))
    size = np.asarray(lengths)
    dealt: list[Ints] = []
    for start in range(0, len(order), batch_size * _WINDOW):
        window = order[start : start + batch_size * _WINDOW]
        window = window[np.argsort(size[window], kind="stable")]
        dealt.extend(window[at : at + batch_size] for at in range(0, len(window), batch_size))
    return [dealt[i] for i in draw.permutation(len(dealt))]


def match_lengths(lengths: Sequence[int], other_lengths: Sequence[int]) -> list[int]:
    """Return for each text the position of one of as many others: the shortest for the shortest.

    >>> match_lengths([5, 1, 9], [30, 10, 20])
    [2, 1, 0]
    """
    matched = np.empty(len(lengths), dtype=np.int64)
    matched[np.argsort(lengths, kind="stable")] = np.argsort(other_lengths, kind="stable")
    positions: list[int] = matched.tolist()
    return positions
