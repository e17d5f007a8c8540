"""Batches of texts of like length, in an order that depends on seed and epoch alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entail.index.protocol import Ints

_WINDOW = 16


def batches(lengths: Sequence[int], *, batch_size: int, seed: int, epoch: int) -> list[Ints]:
    """Split all positions into batches: shuffled, sorted by length within windows, batches shuffled.

    There is little padding, yet every epoch combines other texts. The batches depend only on seed and epoch,
    so a training resumed within an epoch gets the same ones.

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


def of_like_length(lengths: Sequence[int], others: Sequence[int]) -> list[int]:
    """Return for each text the position of one of as many others: the shortest for the shortest.

    >>> of_like_length([5, 1, 9], [30, 10, 20])
    [2, 1, 0]
    """
    matched = [0] * len(lengths)
    for text, other in zip(_by_length(lengths), _by_length(others), strict=True):
        matched[text] = other
    return matched


def _by_length(lengths: Sequence[int]) -> list[int]:
    return sorted(range(len(lengths)), key=lengths.__getitem__)
