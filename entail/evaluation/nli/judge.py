"""Protocol of entailment judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from entail.progress import ProgressCallback

Values = NDArray[np.float64]


class Judge(Protocol):
    """Protocol of models that give the probability of an entailment."""

    @property
    def name(self) -> str:
        """Display name."""
        ...

    def entailment(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return P(premise entails hypothesis) of each pair, shape (pairs,)."""
        ...
