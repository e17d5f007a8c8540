"""Separation of two groups of values: P(upper > lower), and the overlap of their distributions.

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

BINS = 20
"""Bins of equal width in which `separation` compares two distributions."""


@dataclass(frozen=True)
class Separation:
    """Separation of the values of one group from those of another.

    Attributes:
        auc: P(upper > lower), equal values counted half: Mann and Whitney's U / (n m).
        auc_interval: Its interval.
        shared: Overlap coefficient sum_b min(f_b, g_b) over `BINS` bins of equal width between the least and
            the greatest value: 1 for equal histograms, 0 for disjoint ones. Corrected by the bootstrap for
            the scatter of small groups, which lowers the sum.
        shared_interval: Its interval (basic bootstrap).
        auc_draws: The values of `auc` in the bootstrap samples, nan where one lacks a group (samples,).
        shared_draws: Those of the sum, reflected about the observed one; `shared` is their mean, at most 1.
    """

    auc: float
    auc_interval: tuple[float, float]
    shared: float
    shared_interval: tuple[float, float]
    auc_draws: Values = field(repr=False, compare=False)
    shared_draws: Values = field(repr=False, compare=False)

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
            "shared": self.shared,
            "shared_interval": list(self.shared_interval),
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

    Queries are resampled with all their pairs. Separations of the same pairs by other values share the
    bootstrap samples, so their draws can be subtracted.

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

    edges = np.linspace(min(tops.min(), bottoms[0]), max(tops.max(), bottoms[-1]), BINS + 1)
    histograms = [
        _counts(query[group], np.searchsorted(edges[1:-1], values[group], "right"), queries, BINS)
        for group in (upper, lower)
    ]  # (queries, bins) each

    def figures(counts: Values) -> tuple[Values, Values]:
        with np.errstate(invalid="ignore"):  # 0 / 0 where a sample lacks a group: nan
            high, low = ((total := counts @ group) / total.sum(axis=1, keepdims=True) for group in histograms)
            count = counts @ histograms[0].sum(axis=1) * (counts @ histograms[1].sum(axis=1))
            auc = ((counts @ wins) * counts[:, owner]).sum(axis=1) / count
        return auc, np.minimum(high, low).sum(axis=1)

    observed = figures(np.ones((1, queries)))
    draws = [figures(counts) for counts in resamples(queries, samples=samples, seed=seed)]
    auc_draws, shared_draws = (np.concatenate(part) for part in zip(*draws, strict=True))
    shared_draws = 2 * observed[1] - shared_draws
    shared, low, high = np.clip([np.nanmean(shared_draws), *interval(shared_draws)], 0, 1)
    return Separation(
        auc=float(observed[0][0]),
        auc_interval=interval(auc_draws),
        shared=float(shared),
        shared_interval=(float(low), float(high)),
        auc_draws=auc_draws,
        shared_draws=shared_draws,
    )


def _counts(rows: Positions, columns: Positions, height: int, width: int) -> Values:
    flat = np.bincount(rows * width + columns, minlength=height * width)
    return flat.reshape(height, width).astype(np.float64)
