"""Batches of rows of token ids: of similar length within a token budget, and padded to one length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Booleans = NDArray[np.bool_]

WASTE = 0.04
"""Share of a batch that may be padding, unless the batch is small."""


def budget_of(device: str) -> int:
    """Return the tokens of a forward pass: the paper's 24k on a GPU, what fits the cache of a processor.

    >>> budget_of("cpu"), budget_of("cuda:1")
    (4096, 24000)
    """
    return 24_000 if device.startswith("cuda") else 4096


def token_batches(lengths: Sequence[int] | Ints, *, budget: int, most: int | None = None) -> list[Ints]:
    """Split rows into batches of similar length, of at most `budget` tokens with padding and `most` rows.

    A row longer than the budget has its own batch.

    >>> [b.tolist() for b in token_batches([9, 3, 9, 3], budget=20)]
    [[1, 3], [0, 2]]
    """
    size = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(size, kind="stable")
    batches: list[Ints] = []
    start = total = 0
    for at, row in enumerate(order):
        longest, count = int(size[row]), at - start + 1
        padded = longest * count
        # A pass has a fixed cost: a small batch is worth some padding.
        wasteful = padded - total - longest > WASTE * padded and total * 8 > budget
        if at > start and (padded > budget or wasteful or count > (most or count)):
            batches.append(order[start:at])
            start, total = at, 0
        total += longest
    if len(order):
        batches.append(order[start:])
    return batches


def pad_rows(rows: Sequence[Sequence[int]], padding: int) -> tuple[Ints, Booleans]:
    """Return rows filled to one length, and the mask of what is not padding, both (rows, tokens).

    >>> pad_rows([(7, 8), (9,)], 0)[0].tolist()
    [[7, 8], [9, 0]]
    """
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, padding, dtype=np.int64)
    ids[mask] = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
    return ids, mask
