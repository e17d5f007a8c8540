"""Measures of a decision between two classes by scores: arrays in, numbers out.

A positive case (p entails h, say) should score high; a case is called positive if it scores above a
threshold. Equal scores are decided equally. `EvaluationError` is raised for no case, arrays of different
lengths, and a score that is not finite.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entail.errors import EvaluationError
from entail.statistics.ranking import LEVEL

Booleans = NDArray[np.bool_]
Values = NDArray[np.float64]


def auprc(scores: ArrayLike, positive: ArrayLike) -> float | None:
    """Return the average precision, the exact area under the precision-recall curve; None without positives.

    >>> auprc([0.9, 0.8, 0.3], [True, False, True])
    0.8333333333333333
    """
    from sklearn.metrics import average_precision_score

    values, truth = _checked(scores, positive)
    return float(average_precision_score(truth, values)) if truth.any() else None


class Threshold(NamedTuple):
    """A threshold and its accuracy on the data it was fitted on."""

    value: float
    accuracy: float


def best_threshold(scores: ArrayLike, positive: ArrayLike) -> Threshold:
    """Return the threshold with the highest accuracy, the lowest of several.

    It lies half-way between two neighbouring scores, right below the least one if all are called positive,
    at the greatest if none is.

    >>> best_threshold([0.1, 0.2, 0.6, 0.8], [False, True, True, False])
    Threshold(value=0.15000000000000002, accuracy=0.75)
    """
    values, truth = _checked(scores, positive)
    distinct, inverse = np.unique(values, return_inverse=True)
    gained = np.bincount(inverse, ~truth) - np.bincount(inverse, truth)
    # Correct decisions if the c lowest distinct scores are called negative, c = 0 .. all of them.
    correct = np.concatenate([[0.0], np.cumsum(gained)]) + truth.sum()
    cut = int(np.argmax(correct))
    low = distinct[cut - 1] if cut else math.nextafter(distinct[0], -math.inf)
    middle = low
    if 0 < cut < len(distinct):
        middle = low + (distinct[cut] - low) / 2
        middle = middle if middle < distinct[cut] else low  # the middle of neighbouring floats is rounded
    return Threshold(float(middle), float(correct[cut] / len(values)))


def wilson_interval(right: int, cases: int) -> tuple[float, float] | None:
    """Return Wilson's interval of the share right / cases, None where there is no case.

    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if not cases:
        return None
    from scipy.stats import binomtest

    low, high = binomtest(right, cases).proportion_ci(confidence_level=LEVEL, method="wilson")
    return float(low), float(high)


def _checked(scores: ArrayLike, positive: ArrayLike) -> tuple[Values, Booleans]:
    values, truth = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=np.bool_)
    if values.shape != truth.shape or values.ndim != 1 or not len(values):
        raise EvaluationError(f"expected scored cases, found shapes {values.shape} and {truth.shape}")
    if broken := int((~np.isfinite(values)).sum()):
        raise EvaluationError(f"{broken} of {len(values)} scores are not finite numbers")
    return values, truth
