"""Measures of a decision between two classes by scores: arrays in, numbers out.

A positive case (p entails h, say) should score high; a case is called positive if it scores above a
threshold. Equal scores are decided equally, so order never matters. `EvaluationError` is raised for no case,
arrays of different lengths, and a score that is not finite.

=====================  =================================================================================
`auprc`                area under precision over recall, exact: sum_k (R_k - R_{k-1}) P_k over all scores
`auprc_stepped`        the same by thresholds 0, 0.001 .. 1 and trapezoids, as papers report it
`best_threshold`       the threshold with the most correct decisions
`wilson_interval`      interval of a share of correct decisions
`mcnemar`              McNemar's test of two classifiers on the same cases
=====================  =================================================================================
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entail.errors import EvaluationError
from entail.statistics.ranking import LEVEL

Booleans = NDArray[np.bool_]
Values = NDArray[np.float64]

STEPS = 1000
"""Steps of `auprc_stepped` from 0 to 1."""

EXACT_UP_TO = 25
"""Discordant cases up to which `mcnemar` is exact."""


def auprc(scores: ArrayLike, positive: ArrayLike) -> float | None:
    """Return the average precision, the exact area under the precision-recall curve; None without positives.

    >>> auprc([0.9, 0.8, 0.3], [True, False, True])
    0.8333333333333333
    """
    values, truth = _checked(scores, positive)
    if not truth.any():
        return None
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(truth, values))


def auprc_stepped(scores: ArrayLike, positive: ArrayLike) -> float | None:
    """Return the area under precision over recall at the thresholds 0, 1/1000 .. 1, by trapezoids.

    None without positives. A threshold above every score gives no point. Towards recall 0 the curve keeps the
    precision of its leftmost point; beyond its greatest recall, below 1 if a positive scores 0 or less, the
    area is 0. Where all scores lie in a few steps this says little: report `auprc`.

    >>> auprc_stepped([0.9, 0.8, 0.3], [True, False, True])
    0.7916666666666666
    """
    values, truth = _checked(scores, positive)
    if not truth.any():
        return None
    thresholds = np.arange(STEPS, -1, -1) / STEPS  # descending, so recall ascends
    called = len(values) - np.searchsorted(np.sort(values), thresholds, "right")
    hits = int(truth.sum()) - np.searchsorted(np.sort(values[truth]), thresholds, "right")
    hits, called = hits[called > 0], called[called > 0]
    if not len(called):
        return 0.0
    precision, recall = hits / called, hits / truth.sum()
    return float(np.trapezoid([precision[0], *precision], [0.0, *recall]))


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold and its accuracy on the data it was fitted on."""

    value: float
    accuracy: float


def best_threshold(scores: ArrayLike, positive: ArrayLike) -> Threshold:
    """Return the threshold with the highest accuracy, positive being what scores above it.

    It lies half-way between two neighbouring scores, right below the least one if all are called positive,
    at the greatest if none is. Of several equally accurate ones it is the lowest.

    >>> best_threshold([0.1, 0.2, 0.6, 0.8], [False, True, True, False])
    Threshold(value=0.15000000000000002, accuracy=0.75)
    """
    values, truth = _checked(scores, positive)
    distinct, inverse = np.unique(values, return_inverse=True)
    positives = np.bincount(inverse, truth)  # of each distinct score
    negatives = np.bincount(inverse, ~truth)
    # Correct decisions if the c lowest distinct scores are called negative, c = 0 .. all of them.
    correct = np.concatenate([[0.0], np.cumsum(negatives - positives)]) + truth.sum()
    cut = int(np.argmax(correct))
    if cut == 0:
        value = math.nextafter(float(distinct[0]), -math.inf)
    elif cut == len(distinct):
        value = float(distinct[-1])
    else:
        low, high = float(distinct[cut - 1]), float(distinct[cut])
        middle = low + (high - low) / 2
        value = middle if middle < high else low  # the middle of neighbouring floats is rounded
    return Threshold(value=value, accuracy=float(correct[cut] / len(values)))


def wilson_interval(right: int, cases: int) -> tuple[float, float] | None:
    """Return Wilson's interval of the share right / cases, None where there is no case.

    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)

    Raises:
        EvaluationError: If `right` is not between 0 and `cases`.
    """
    if not 0 <= right <= cases:
        raise EvaluationError(f"expected some of {cases} cases, found {right}")
    if not cases:
        return None
    from scipy.stats import binomtest

    low, high = binomtest(right, cases).proportion_ci(confidence_level=LEVEL, method="wilson")
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's test of two classifiers.

    Attributes:
        first_only: Cases that only the first decides correctly.
        second_only: Cases that only the second does.
        p: Two-sided; 1 where no case is discordant.
        exact: By the binomial distribution; else by chi-squared with continuity correction.
    """

    first_only: int
    second_only: int
    p: float
    exact: bool

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """Compare the correct decisions of two classifiers on the same cases (McNemar 1947).

    With b and c cases that only one of them decides correctly, the exact test (b + c up to `EXACT_UP_TO`) is
    the two-sided binomial one of b in b + c at 1/2; the other takes (max(|b - c| - 1, 0))^2 / (b + c) for
    chi-squared with one degree of freedom.

    >>> mcnemar([True] * 6 + [False] * 2, [False] * 6 + [True] * 2).p
    0.2890625

    Raises:
        EvaluationError: If the two are not of the same number of cases.
    """
    first_correct, second_correct = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    if first_correct.shape != second_correct.shape or first_correct.ndim != 1:
        raise EvaluationError(
            "expected whether each of the same cases is right, twice, found shapes "
            f"{first_correct.shape}, {second_correct.shape}"
        )
    only_first, only_second = (
        int((first_correct & ~second_correct).sum()),
        int((second_correct & ~first_correct).sum()),
    )
    discordant = only_first + only_second
    exact = discordant <= EXACT_UP_TO
    if not discordant:
        p = 1.0
    elif exact:
        from scipy.stats import binomtest

        p = float(binomtest(only_first, discordant).pvalue)
    else:
        statistic = max(abs(only_first - only_second) - 1, 0) ** 2 / discordant
        p = math.erfc(math.sqrt(statistic / 2))  # chi-squared of one degree is a squared normal
    return McNemar(first_only=only_first, second_only=only_second, p=p, exact=exact)


def _checked(scores: ArrayLike, positive: ArrayLike) -> tuple[Values, Booleans]:
    values, truth = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=np.bool_)
    if values.shape != truth.shape or values.ndim != 1 or not len(values):
        raise EvaluationError(
            "expected at least one case, with a score and whether it is positive, found shapes "
            f"{values.shape} and {truth.shape}"
        )
    if not np.isfinite(values).all():
        raise EvaluationError(
            f"{int((~np.isfinite(values)).sum())} of {len(values)} scores are not finite numbers"
        )
    return values, truth
