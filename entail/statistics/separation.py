"""Separation of two groups of values: P(upper > lower), with a bootstrap over queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.errors import RetrievalError
from entail.statistics.paired import OWN_SAMPLES, SEED, check_draws, interval, resamples
from entail.statistics.ranking import Positions, Values


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

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        ends = list(self.auc_interval)
        delta_interval = [2 * end - 1 for end in ends]
        return {"auc": self.auc, "auc_interval": ends, "delta": self.delta, "delta_interval": delta_interval}


def separation(
    values: Values,
    *,
    upper: NDArray[np.bool_],
    lower: NDArray[np.bool_],
    query: Positions,
    samples: int = OWN_SAMPLES,
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
    bottoms, owner = np.sort(values[lower]), query[lower][np.argsort(values[lower], kind="stable")]
    # U of a bootstrap sample is bilinear in the number of draws of each query, so one product serves all
    # samples, where `scipy.stats.mannwhitneyu` would sort each of them: a page would wait for seconds.
    # `wins[q, i]` counts the upper pairs of query q above the lower pair i, equal ones as half.
    beaten = np.zeros((queries, len(bottoms) + 1))
    for side in ("left", "right"):  # lower pairs below the value; those below or level with it
        np.add.at(beaten, (query[upper], np.searchsorted(bottoms, values[upper], side)), 0.5)
    wins = beaten[:, :0:-1].cumsum(axis=1)[:, ::-1]
    sizes = np.stack([np.bincount(query[group], minlength=queries) for group in (upper, lower)], axis=1)

    def auc(counts: Values) -> Values:
        with np.errstate(invalid="ignore"):  # 0 / 0 where a sample lacks a group: nan
            value: Values = ((counts @ wins) * counts[:, owner]).sum(axis=1) / (counts @ sizes).prod(axis=1)
        return value

    draws = np.concatenate([auc(counts) for counts in resamples(queries, samples=samples, seed=seed)])
    return Separation(float(auc(np.ones((1, queries)))[0]), interval(draws), draws)
