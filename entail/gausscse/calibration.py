"""Calibration of similarities on dev pairs: threshold, and logistic curves (Platt)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from entail.data.nli.pairs import NliPair
from entail.encoders.gaussian.distributions import Floats64
from entail.encoders.gaussian.form import Calibration, GaussianForm
from entail.statistics.classification import Booleans, best_threshold

LEAST = 10
"""Minimum number of pairs of either kind for a curve."""

_EDGE = 1e-9


def logits(similarities: ArrayLike) -> Floats64:
    """Return log(s / (1 - s)) of similarities, clipped to (0, 1).

    >>> logits([0.5]).tolist()
    [0.0]
    """
    clipped = np.clip(np.asarray(similarities, dtype=np.float64), _EDGE, 1 - _EDGE)
    return np.log(clipped) - np.log1p(-clipped)


def fit_curve(scores: ArrayLike, yes: ArrayLike, *, centred: bool = False) -> Calibration | None:
    """Fit a logistic curve to the scores of pairs and their labels; None with too few of either kind.

    A centred curve is one half at 0: both orders of each pair are fitted.
    """
    from sklearn.linear_model import LogisticRegression

    x, y = np.asarray(scores, dtype=np.float64)[:, None], np.asarray(yes, dtype=bool)
    if centred:
        x, y = np.concatenate([x, -x]), np.concatenate([y, ~y])
    if min(y.sum(), (~y).sum()) < LEAST:
        return None
    fitted = LogisticRegression(fit_intercept=not centred).fit(x, y)
    return Calibration(slope=float(fitted.coef_[0, 0]), intercept=float(np.ravel(fitted.intercept_)[0]))


def probability(curve: Calibration, scores: ArrayLike) -> Floats64:
    """Return the probability of each score.

    >>> probability(Calibration(slope=2.0, intercept=0.0), [0.0]).tolist()
    [0.5]
    """
    from scipy.special import expit

    values: Floats64 = expit(curve.slope * np.asarray(scores, dtype=np.float64) + curve.intercept)
    return values


def is_one_way(pairs: Sequence[NliPair]) -> Booleans:
    """Return the mask of the pairs that are not known to entail both ways."""
    return np.array([not pair.bilateral for pair in pairs])


def fit_form(
    form: GaussianForm, similarities: tuple[Floats64, Floats64], dev: Sequence[NliPair]
) -> GaussianForm:
    """Return a form with threshold and curves fitted on sim(h || p) and sim(p || h) of dev.

    Pairs that are known to entail both ways are left out of the curve of the direction.
    """
    forward, backward = similarities
    entailed = np.array([pair.label == "entailment" for pair in dev])
    margins = (logits(forward) - logits(backward))[entailed & is_one_way(dev)]
    return replace(
        form,
        threshold=best_threshold(forward, entailed).value,
        entailment=fit_curve(logits(forward), entailed),
        direction=fit_curve(margins, np.ones(len(margins), dtype=bool), centred=True),
    )
