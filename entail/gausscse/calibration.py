"""From a similarity to a verdict: threshold and logistic curves (Platt), as dev fits them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from entail.data.nli.pairs import NliPair
from entail.encoders.gaussian.distributions import Floats64
from entail.encoders.gaussian.form import Calibration, GaussianForm
from entail.encoders.weights import read_json
from entail.progress import ProgressCallback
from entail.statistics.classification import Booleans, best_threshold
from entail.training.cards.metadata import replace_text
from entail.training.cards.template import write_card

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


def one_way(pairs: Sequence[NliPair]) -> Booleans:
    """Return which pairs are not known to entail both ways."""
    return np.array([not pair.bilateral for pair in pairs])


def fit_form(
    form: GaussianForm, similarities: tuple[Floats64, Floats64], dev: Sequence[NliPair]
) -> GaussianForm:
    """Fit threshold and curves: the direction's on pairs that entail one way only, as far as is known.

    Args:
        form: What they are fitted for.
        similarities: sim(h || p) and sim(p || h) of each pair.
        dev: The pairs.
    """
    forward, backward = similarities
    entailed = np.array([pair.label == "entailment" for pair in dev])
    margins = (logits(forward) - logits(backward))[entailed & one_way(dev)]
    return replace(
        form,
        threshold=best_threshold(forward, entailed).value,
        entailment=fit_curve(logits(forward), entailed),
        direction=fit_curve(margins, np.ones(len(margins), dtype=bool), centred=True),
    )


def calibrate(
    folder: Path,
    dev: Sequence[NliPair],
    *,
    device: str | None = None,
    progress: ProgressCallback | None = None,
) -> GaussianForm:
    """Fit an encoder's threshold and curves on pairs, keep them in its `entail.json`, and write its card.

    Raises:
        EncoderError: If the folder is no encoder of Gaussians, or cannot be written.
        EvaluationError: If there is no pair.
    """
    from entail.encoders.gaussian.encoder import GaussianEncoder
    from entail.evaluation.nli.pair_similarity import pair_similarities

    encoder = GaussianEncoder(folder, device=device)
    found = pair_similarities(dev, encoder, progress=progress)
    assert found.backward is not None, "Gaussians have both"
    form = fit_form(encoder.form, (found.forward, found.backward), dev)
    told = dict(read_json(folder / "entail.json") or {}) | {"gaussian": form.to_json()}
    replace_text(folder / "entail.json", json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    write_card(folder)
    return form
