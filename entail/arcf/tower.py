"""A scorer in training: a cross-encoder of one output, the score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from entail.encoders.pairs import Pair
from entail.index.protocol import Floats
from entail.training.cross_tower import CrossTower

if TYPE_CHECKING:
    from torch import Tensor


class ScorerTower(CrossTower):
    """A cross-encoder that learns to score; see `CrossTower`."""

    def scores(self, pairs: Sequence[Pair]) -> Tensor:
        """Return a score a pair with its gradient, shape (pairs,), fp32."""
        return self.outputs(pairs)[:, 0]

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return a score a pair without gradient and dropout, shape (pairs,)."""
        return self.values(pairs)[:, 0]
