"""Verdict on the direction of two sentences, with its margin and confidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Literal

import numpy as np

from entail.data.text import fold
from entail.encoders.gaussian.distributions import Floats64, Gaussians, similarity
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.gaussian.form import GaussianForm
from entail.gausscse.calibration import logits, probability
from entail.progress import ProgressCallback

Says = Literal["entails", "is entailed by", "both ways", "neither"]

Which = Literal["first", "second"]

NO_THRESHOLD = 0.5
"""Taken where an encoder was never fitted on dev."""


@dataclass(frozen=True)
class Verdict:
    """Verdict of an encoder on two sentences.

    Attributes:
        first: A sentence.
        second: Another one.
        forward: sim(second || first): how much the first entails the second.
        backward: sim(first || second): how much the second entails the first.
        says: What the first does to the second: each similarity above the threshold is an entailment.
        margin: logit(forward) - logit(backward): above 0 where, if one entails the other, it is the first.
        sure: Probability of what it says, by the curve fitted on dev, and at least one half: see
            `confidence`; None if none was fitted.
        direction: Probability that an entailment between the two runs from the first to the second, on the
            margin's side of one half; None likewise.
        truncated: Which of the two are longer than what the encoder reads: only their beginning was judged.
    """

    first: str
    second: str
    forward: float
    backward: float
    says: Says
    margin: float
    sure: float | None
    direction: float | None
    truncated: tuple[Which, ...] = ()

    def __str__(self) -> str:
        words = {
            "entails": "the first entails the second",
            "is entailed by": "the second entails the first",
            "both ways": "each entails the other",
            "neither": "neither entails the other",
        }[self.says]
        return words + (f" ({self.sure:.0%} sure)" if self.sure is not None else "")

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def judge(
    encoder: GaussianEncoder,
    first: Sequence[str],
    second: Sequence[str],
    *,
    progress: ProgressCallback | None = None,
) -> list[Verdict]:
    """Judge pairs of sentences; every distinct one is encoded once.

    Two sentences that are equal but for white space entail each other, whatever their similarities.

    Raises:
        EncoderError: If there are not as many of both, or the encoder cannot be loaded.
    """
    one, two = encoder.encode_pairs(first, second, progress=progress)
    longer = longer_than_read(encoder.cut, [*first, *second])
    return judged(encoder.form, first, second, one, two, longer=longer)


def longer_than_read(cut: Callable[[Sequence[str]], list[bool]], texts: Sequence[str]) -> frozenset[str]:
    """Return those of some texts that are longer than what is read of them, by an encoder's `cut`."""
    distinct = list(dict.fromkeys(texts))
    return frozenset(compress(distinct, cut(distinct))) if distinct else frozenset()


def judged(
    form: GaussianForm,
    first: Sequence[str],
    second: Sequence[str],
    one: Gaussians,
    two: Gaussians,
    *,
    longer: Collection[str],
) -> list[Verdict]:
    """Judge pairs whose Gaussians are known; see `judge`.

    Args:
        form: The encoder's.
        first: The first sentences.
        second: As many second ones.
        one: The Gaussians of the first.
        two: Those of the second.
        longer: Sentences that are longer than what was read of them; see `longer_than_read`.
    """
    threshold = threshold_of(form)
    forward = similarity(two, one, kind=form.similarity)
    backward = similarity(one, two, kind=form.similarity)
    margins = logits(forward) - logits(backward)
    sure = [confidence(form, some) for some in (forward, backward)]
    directions = direction_confidence(form, margins)
    found = []
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        both: tuple[tuple[Which, str], ...] = (("first", a), ("second", b))
        same = fold(a) == fold(b)
        yes, back = forward[i] > threshold or same, backward[i] > threshold or same
        says: Says = "both ways" if yes and back else "entails" if yes else "neither"
        if back and not yes:
            says = "is entailed by"
        how_sure = None
        if same:
            how_sure = 1.0
        elif sure[0] is not None and sure[1] is not None:
            there, and_back = float(sure[0][i]), float(sure[1][i])
            # Of two claims, that both ways are or none is, the one less sure decides.
            how_sure = {"entails": there, "is entailed by": and_back}.get(says, min(there, and_back))
        found.append(
            Verdict(
                first=a,
                second=b,
                forward=float(forward[i]),
                backward=float(backward[i]),
                says=says,
                margin=float(margins[i]),
                sure=how_sure,
                direction=None if directions is None else float(directions[i]),
                truncated=tuple(which for which, text in both if text in longer),
            )
        )
    return found


def threshold_of(form: GaussianForm) -> float:
    """Return above which similarity a premise is said to entail: what dev fitted, or `NO_THRESHOLD`."""
    return NO_THRESHOLD if form.threshold is None else form.threshold


def confidence(form: GaussianForm, similarities: Floats64) -> Floats64 | None:
    """Return how sure the threshold's answer to each sim(h || p) is, yes or no; None without a curve.

    It is the curve's probability of that answer, and at least one half. The threshold is where most pairs of
    dev come out right, and the curve fits all of them: its middle lies elsewhere, and between the two it
    speaks against the answer. Nothing better is known there than that both are as likely.
    """
    if form.entailment is None:
        return None
    yes = probability(form.entailment, logits(similarities))
    found: Floats64 = np.maximum(np.where(similarities > threshold_of(form), yes, 1 - yes), 0.5)
    return found


def direction_confidence(form: GaussianForm, margins: Floats64) -> Floats64 | None:
    """Return the probability that an entailment runs from the first to the second; None without a curve.

    It lies on the margin's side of one half, and is one half where there is no margin.
    """
    if form.direction is None:
        return None
    found = probability(form.direction, margins)
    below, above = np.minimum(found, 0.5), np.maximum(found, 0.5)
    return np.where(margins > 0, above, np.where(margins < 0, below, 0.5))
