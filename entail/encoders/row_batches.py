"""Rows of like length together: as few batches as a token budget allows, hardly a token of padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

WASTE = 0.04
"""Share of a batch that may be padding."""


def budget_of(device: str) -> int:
    """Return the tokens of a forward pass: the paper's 24k on a GPU, what a processor keeps in its cache.

    >>> budget_of("cpu"), budget_of("cuda:1")
    (4096, 24000)
    """
    return 24_000 if device.startswith("cuda") else 4096


@dataclass
class Spent:
    """Counter of the cost of scoring.

    Attributes:
        passes: Forward passes.
        rows: Pairs scored.
        tokens: Tokens of the pairs.
        padded: Tokens computed, padding among them.
    """

    passes: int = 0
    rows: int = 0
    tokens: int = 0
    padded: int = 0

    def add(self, rows: int, tokens: int, padded: int) -> None:
        """Count one forward pass."""
        self.passes += 1
        self.rows += rows
        self.tokens += tokens
        self.padded += padded


def token_batches(
    lengths: Sequence[int], *, budget: int, waste: float = WASTE, most: int | None = None
) -> list[Ints]:
    """Deal rows into batches of at most `budget` tokens with padding, of which at most a share is padding.

    >>> [b.tolist() for b in token_batches([9, 3, 9, 3], budget=20)]
    [[1, 3], [0, 2]]

    Args:
        lengths: Tokens of each row.
        budget: Tokens of a batch; a longer row stands alone.
        waste: Share of a batch that may be padding, unless it would be a small one.
        most: Rows of a batch; default: as many as fit.
    """
    size = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(size, kind="stable")
    found: list[Ints] = []
    start = total = 0
    for at, row in enumerate(order):
        longest, count = int(size[row]), at - start + 1
        padded = longest * count
        # A pass has a cost of its own: a handful of rows is worth some padding.
        wasteful = padded - total - longest > waste * padded and total * 8 > budget
        if at > start and (padded > budget or wasteful or count > (most or count)):
            found.append(order[start:at])
            start, total = at, 0
        total += longest
    if len(order):
        found.append(order[start:])
    return found
