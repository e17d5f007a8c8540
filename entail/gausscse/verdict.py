"""Verdicts on the direction of pairs of sentences, and their calibration on dev pairs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from entail.data.nli.pairs import NliPair
from entail.data.text import fold
from entail.encoders.gaussian.distributions import Floats64, Gaussians, similarity
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.gaussian.form import Calibration, GaussianForm
from entail.progress import ProgressCallback
from entail.statistics.classification import Booleans, best_threshold

Says = Literal["entails", "is entailed by", "both ways", "neither"]

Side = Literal["first", "second"]

NO_THRESHOLD = 0.5
"""Threshold of an encoder that was never calibrated."""


LEAST = 10
"""Minimum number of pairs of either kind for a curve."""


@dataclass(frozen=True)
class Verdict:
    """Verdict of an encoder on two sentences.

    Attributes:
        forward: sim(second || first): how much the first entails the second.
        backward: sim(first || second): how much the second entails the first.
        says: Relation of the first to the second: a similarity above the threshold is an entailment.
        margin: logit(forward) - logit(backward): above 0 where, if one entails the other, it is the first.
        sure: Probability of `says`, at least one half, see `confidence`; None without a calibration.
        direction: Probability that an entailment runs from the first to the second; None as for `sure`.
        truncated: Sentences of which only the beginning was judged.
    """

    first: str
    second: str
    forward: float
    backward: float
    says: Says
    margin: float
    sure: float | None
    direction: float | None
    truncated: tuple[Side, ...] = ()

    def __str__(self) -> str:
        words = {
            "entails": "the first entails the second",
            "is entailed by": "the second entails the first",
            "both ways": "each entails the other",
            "neither": "neither entails the other",
        }[self.says]
        return words + (f" ({self.sure:.0%} sure)" if self.sure is not None else "")


def judge(
    encoder: GaussianEncoder,
    first: Sequence[str],
    second: Sequence[str],
    *,
    progress: ProgressCallback | None = None,
) -> list[Verdict]:
    """Judge pairs of sentences; each distinct sentence is encoded once.

    Sentences that are equal but for white space entail each other.

    Raises:
        EncoderError: If the numbers of sentences differ, or the encoder cannot be loaded.
    """
    first_gaussians, second_gaussians = encoder.encode_pairs(first, second, progress=progress)
    distinct = list(dict.fromkeys([*first, *second]))
    truncated = frozenset(compress(distinct, encoder.cut(distinct)))
    return judge_gaussians(
        encoder.form, first, second, first_gaussians, second_gaussians, truncated=truncated
    )


def judge_gaussians(
    form: GaussianForm,
    first: Sequence[str],
    second: Sequence[str],
    first_gaussians: Gaussians,
    second_gaussians: Gaussians,
    *,
    truncated: Collection[str],
) -> list[Verdict]:
    """Judge pairs of sentences by their Gaussians; `truncated` exceed the encoder's maximum length."""
    threshold = threshold_of(form)
    forward = similarity(second_gaussians, first_gaussians, kind=form.similarity)
    backward = similarity(first_gaussians, second_gaussians, kind=form.similarity)
    margins = logits(forward) - logits(backward)
    sure = confidence(form, np.stack([forward, backward]))
    directions = direction_confidence(form, margins)
    verdicts = []
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        same = fold(a) == fold(b)
        says = _RELATIONS[bool(forward[i] > threshold or same), bool(backward[i] > threshold or same)]
        confident = 1.0 if same else None
        if sure is not None and not same:
            by_side = dict(zip(("entails", "is entailed by"), sure[:, i].tolist(), strict=True))
            # Of two claims, both ways or neither, the less certain one decides.
            confident = by_side.get(says, min(by_side.values()))
        sides: tuple[tuple[Side, str], ...] = (("first", a), ("second", b))
        verdicts.append(
            Verdict(
                first=a,
                second=b,
                forward=float(forward[i]),
                backward=float(backward[i]),
                says=says,
                margin=float(margins[i]),
                sure=confident,
                direction=None if directions is None else float(directions[i]),
                truncated=tuple(side for side, text in sides if text in truncated),
            )
        )
    return verdicts


_RELATIONS: dict[tuple[bool, bool], Says] = {
    (True, True): "both ways",
    (True, False): "entails",
    (False, True): "is entailed by",
    (False, False): "neither",
}


def threshold_of(form: GaussianForm) -> float:
    """Return the similarity above which a premise entails: calibrated on dev, or `NO_THRESHOLD`."""
    return NO_THRESHOLD if form.threshold is None else form.threshold


def confidence(form: GaussianForm, similarities: Floats64) -> Floats64 | None:
    """Return the probability of the threshold's answer to each sim(h || p); None without a calibration.

    Between the middle of the logistic curve and the threshold, which are fitted apart, the curve contradicts
    the answer; the probability there is one half.
    """
    if form.entailment is None:
        return None
    yes = _probability(form.entailment, logits(similarities))
    sure: Floats64 = np.maximum(np.where(similarities > threshold_of(form), yes, 1 - yes), 0.5)
    return sure


def direction_confidence(form: GaussianForm, margins: Floats64) -> Floats64 | None:
    """Return the probability that an entailment runs from the first to the second; None without a curve.

    It lies on the margin's side of one half, and is one half where there is no margin.
    """
    if form.direction is None:
        return None
    curve = _probability(form.direction, margins)
    below, above = np.minimum(curve, 0.5), np.maximum(curve, 0.5)
    return np.where(margins > 0, above, np.where(margins < 0, below, 0.5))


def _probability(curve: Calibration, scores: Floats64) -> Floats64:
    from scipy.special import expit

    values: Floats64 = expit(curve.slope * scores + curve.intercept)
    return values


def logits(similarities: ArrayLike) -> Floats64:
    """Return log(s / (1 - s)) of similarities, clipped to (0, 1)."""
    clipped = np.clip(np.asarray(similarities, dtype=np.float64), 1e-9, 1 - 1e-9)
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
