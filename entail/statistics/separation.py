"""Separation of two groups of values: P(upper > lower).

Intervals are a bootstrap over queries, as in `entail.statistics.paired`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.errors import RetrievalError
from entail.statistics.paired import SEED, check_draws, interval
from entail.statistics.ranking import Positions, Values, resamples


@dataclass(frozen=True)
class Separation:
    """Separation of the values of one group from those of another.

    Attributes:
        auc: P(upper > lower), equal values counted half: Mann and Whitney's U / (n m).
        auc_interval: Its interval.
        auc_draws: The values of `auc` in the bootstrap samples, nan where one lacks a group (samples,).
    """

    auc: float
    auc_interval: tuple[float, float]
    auc_draws: Values = field(repr=False, compare=False)

    @property
    def delta(self) -> float:
        """Cliff's delta, P(upper > lower) - P(upper < lower): -1 to 1."""
        return 2 * self.auc - 1

    @property
    def delta_interval(self) -> tuple[float, float]:
        """The interval of `delta`."""
        return 2 * self.auc_interval[0] - 1, 2 * self.auc_interval[1] - 1

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "auc": self.auc,
            "auc_interval": list(self.auc_interval),
            "delta": self.delta,
            "delta_interval": list(self.delta_interval),
        }


def separation(
    values: Values,
    *,
    upper: NDArray[np.bool_],
    lower: NDArray[np.bool_],
    query: Positions,
    samples: int = 2000,
    seed: int = SEED,
) -> Separation | None:
    """Compare two groups of pairs by one value a pair; None where a group has no pair.

    `upper` and `lower` are masks of the pairs, `query` holds each pair's query from 0, all of shape (pairs,).

    Queries are resampled with all their pairs.

    Raises:
        RetrievalError: If a value is not finite, or `samples` is below 1.
    """
    check_draws(samples)
    if not np.isfinite(values[upper | lower]).all():
        raise RetrievalError("expected finite values to compare, found NaN or infinity")
    if not (upper.any() and lower.any()):
        return None
    queries = int(query.max()) + 1
    tops, bottoms = values[upper], np.sort(values[lower])
    owner = query[lower][np.argsort(values[lower], kind="stable")]

    # Upper pairs of query q above lower pair j, equal ones counted half: U of a bootstrap sample is bilinear
    # in the number of draws of each query.
    wins = np.zeros((queries, len(bottoms)))
    for side in ("left", "right"):  # lower pairs below a top; lower pairs below or level with it
        beaten = _counts(query[upper], np.searchsorted(bottoms, tops, side), queries, len(bottoms) + 1)
        wins += beaten[:, :0:-1].cumsum(axis=1)[:, ::-1] / 2

    sizes = np.stack([np.bincount(query[group], minlength=queries) for group in (upper, lower)], axis=1)

    def auc(counts: Values) -> Values:
        with np.errstate(invalid="ignore"):  # 0 / 0 where a sample lacks a group: nan
            value: Values = ((counts @ wins) * counts[:, owner]).sum(axis=1) / (counts @ sizes).prod(axis=1)
        return value

    draws = np.concatenate([auc(counts) for counts in resamples(queries, samples=samples, seed=seed)])
    observed = float(auc(np.ones((1, queries)))[0])
    return Separation(auc=observed, auc_interval=interval(draws), auc_draws=draws)


def _counts(rows: Positions, columns: Positions, height: int, width: int) -> Values:
    flat = np.bincount(rows * width + columns, minlength=height * width)
    return flat.reshape(height, width).astype(np.float64)
