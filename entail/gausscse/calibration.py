"""From a similarity to a probability: logistic curves fitted on dev (Platt), stored with the encoder."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from entail.encoders.gaussian_form import Calibration
from entail.encoders.gaussians import Floats64

LEAST = 10
"""Pairs of either kind that a curve is fitted on at least."""

_EDGE = 1e-9


def logits(similarities: ArrayLike) -> Floats64:
    """Return log(s / (1 - s)) of similarities, each held away from 0 and 1.

    >>> logits([0.5]).tolist()
    [0.0]
    """
    held = np.clip(np.asarray(similarities, dtype=np.float64), _EDGE, 1 - _EDGE)
    return np.log(held) - np.log1p(-held)


def fit_curve(scores: ArrayLike, yes: ArrayLike, *, centred: bool = False) -> Calibration | None:
    """Fit a logistic curve; None where there are too few of either kind.

    Args:
        scores: One a pair, such as `logits` of similarities.
        yes: Whether it holds.
        centred: Whether 0 is to mean one half: both orders of a pair are then fitted at once.
    """
    from sklearn.linear_model import LogisticRegression

    x, y = np.asarray(scores, dtype=np.float64)[:, None], np.asarray(yes, dtype=bool)
    if centred:
        x, y = np.concatenate([x, -x]), np.concatenate([y, ~y])
    if min(y.sum(), (~y).sum()) < LEAST:
        return None
    found = LogisticRegression(fit_intercept=not centred).fit(x, y)
    return Calibration(slope=float(found.coef_[0, 0]), intercept=float(np.ravel(found.intercept_)[0]))


def probability(curve: Calibration, scores: ArrayLike) -> Floats64:
    """Return the probability of each score.

    >>> probability(Calibration(slope=2.0, intercept=0.0), [0.0]).tolist()
    [0.5]
    """
    z = curve.slope * np.asarray(scores, dtype=np.float64) + curve.intercept
    from scipy.special import expit

    found: Floats64 = expit(z)
    return found
