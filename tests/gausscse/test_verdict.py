"""Verdicts on two sentences, and the drawing of two Gaussians."""

from dataclasses import replace

import numpy as np
import pytest

from entail.encoders.gaussian.distributions import Gaussians
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.gaussian.form import Calibration, GaussianForm
from entail.errors import EncoderError
from entail.gausscse.projection import ellipse, project
from entail.gausscse.verdict import Verdict, judge, judge_gaussians, threshold_of


@pytest.fixture
def encoder(gaussian: str) -> GaussianEncoder:
    return GaussianEncoder(gaussian)


def test_one_word_for_two_sentences(encoder: GaussianEncoder) -> None:
    a, b = "ba be bi bo bu", "ba be"

    def judged(low: float, high: float) -> list[Verdict]:
        """Return the verdicts both ways with a threshold between two similarities."""
        encoder.form = replace(encoder.form, threshold=(low + high) / 2)
        return judge(encoder, [a, b], [b, a])

    plain = judge(encoder, [a], [b])[0]
    assert plain.forward == pytest.approx(float(encoder.similarities([b], [a])[0]))
    assert plain.backward == pytest.approx(float(encoder.similarities([a], [b])[0]))
    low, high = sorted((plain.forward, plain.backward))
    assert low < high
    first, second = judged(low, high)
    words = ["is entailed by", "entails"]
    assert [first.says, second.says] == (words[::-1] if plain.forward > plain.backward else words)
    assert first.margin == pytest.approx(-second.margin)
    assert (first.margin > 0) == (plain.forward > plain.backward)
    assert first.direction == pytest.approx(1 - (second.direction or 0))
    assert judged(high, 1)[0].says == "neither"
    assert judged(0, low)[0].says == "both ways"


def test_how_sure_it_is_comes_from_dev(encoder: GaussianEncoder) -> None:
    encoder.form = replace(
        encoder.form, threshold=0.0, entailment=Calibration(slope=0.0, intercept=0.0), direction=None
    )
    verdict = judge(encoder, ["ba be bi"], ["ba"])[0]
    assert (verdict.sure, verdict.direction) == (0.5, None)
    assert str(verdict) == "each entails the other (50% sure)"
    encoder.form = replace(encoder.form, threshold=None, entailment=None)
    assert judge(encoder, ["ba be bi"], ["ba"])[0].sure is None
    encoder.form = replace(encoder.form, threshold=1.0)  # which nothing exceeds
    verdicts = judge(encoder, ["ba  be", ""], ["ba be ", ""])
    assert [(v.says, v.sure) for v in verdicts] == [("both ways", 1.0)] * 2
    assert judge(encoder, [], []) == []


SHIPPED = GaussianForm(
    similarity="kl",
    threshold=0.639,
    entailment=Calibration(slope=2.388, intercept=-1.559),
    direction=Calibration(slope=5.764, intercept=0.0),
)
"""The threshold and curves of `gausscse-minilm`: the threshold is .639, the curve's middle lies at .658."""


def of_one_dimension(form: GaussianForm, rows: list[tuple[float, float]]) -> list[Verdict]:
    """Judge pairs of Gaussians: the first of mean 0 and that log variance, the second standard at a mean."""
    first = Gaussians.of(np.array([[0, width] for _, width in rows], dtype=np.float32))
    second = Gaussians.of(np.array([[mean, 0] for mean, _ in rows], dtype=np.float32))
    names = [str(row) for row in range(len(rows))]
    return judge_gaussians(form, names, [f"{name} b" for name in names], first, second, truncated=())


@pytest.mark.parametrize(
    ("squared", "forward", "backward", "says", "sure"),
    [
        # KL(second || first) = (e^-.5 - .5 + m^2 e^-.5) / 2, the other way (e^.5 - 1.5 + m^2) / 2.
        (1.6004, 0.650, 0.533, "entails", 0.5),  # the curve gives .480 to what the threshold says
        (1.2003, 0.706, 0.597, "entails", 0.629),  # logit .874; 2.388 * .874 - 1.559 = .528 -> .629
        (0.6489, 0.800, 0.715, "both ways", 0.654),  # the less sure one: logit .920 -> .637 -> .654
        (2.4, 0.562, 0.440, "neither", 0.725),  # the likelier of the two: logit .247 -> -.969 -> .275
    ],
)
def test_the_confidence_is_that_of_the_verdict_by_hand(
    squared: float, forward: float, backward: float, says: str, sure: float
) -> None:
    (verdict,) = of_one_dimension(SHIPPED, [(squared**0.5, 0.5)])
    assert (verdict.forward, verdict.backward) == pytest.approx((forward, backward), abs=2e-3)
    assert (verdict.says, verdict.sure) == (says, pytest.approx(sure, abs=2e-3))


def test_no_confidence_is_against_its_verdict() -> None:
    draw = np.random.default_rng(0)
    rows = [(float(mean), float(width)) for mean, width in draw.normal(size=(300, 2)) * 1.5]
    forms = [SHIPPED, replace(SHIPPED, threshold=None)]
    for _ in range(20):  # curves that fall or lie far from the threshold are nobody's wish, but can be
        entailment, direction = (Calibration(slope=a, intercept=b) for a, b in draw.normal(size=(2, 2)) * 4)
        threshold = float(draw.choice([-1.0, 0.0, draw.random(), 1.0]))
        forms.append(replace(SHIPPED, threshold=threshold, entailment=entailment, direction=direction))
    for form in forms:
        threshold = threshold_of(form)
        for verdict in of_one_dimension(form, rows):
            yes, back = verdict.forward > threshold, verdict.backward > threshold
            assert (verdict.says in ("entails", "both ways")) == yes
            assert (verdict.says in ("is entailed by", "both ways")) == back
            assert verdict.sure is not None
            assert verdict.direction is not None
            assert 0.5 <= verdict.sure <= 1
            assert (verdict.direction - 0.5) * verdict.margin >= 0
            if verdict.says in ("entails", "is entailed by"):
                assert (verdict.direction >= 0.5) == (verdict.says == "entails") or verdict.direction == 0.5


def test_two_gaussians_on_a_plane_by_hand() -> None:
    # Means apart along the first axis, variances along the third.
    mean = np.array([[1, 0, 0, 0], [-1, 0, 0, 0]], dtype=np.float32)
    log_variance = np.log(np.array([[1, 1, 9, 1], [1, 1, 1, 1]], dtype=np.float32))
    projection = project(Gaussians(mean, log_variance))
    assert np.abs(projection.means) == pytest.approx(np.array([[1, 0], [1, 0]]), abs=1e-6)
    assert projection.covariances[0] == pytest.approx(np.diag([1.0, 9.0]), abs=1e-5)
    assert projection.covariances[1] == pytest.approx(np.eye(2), abs=1e-5)
    # Shown: (1 + 9 + 1 + 1) / 2 within and 1 between; of (12 + 4) / 2 + 1.
    assert projection.share == pytest.approx(7 / 9, abs=1e-5)
    line = ellipse(projection.means[0], projection.covariances[0], points=4)
    assert np.abs(line - projection.means[0]).max(axis=0) == pytest.approx([1, 3], abs=1e-5)
    assert line[0] == pytest.approx(line[-1])

    # Equal ones can be drawn, and one alone cannot.
    zeros = np.zeros((2, 8), dtype=np.float32)
    projection = project(Gaussians(zeros + 1, zeros))
    assert np.isfinite(projection.means).all()
    assert projection.covariances[0] == pytest.approx(np.eye(2), abs=1e-6)
    assert 0 < projection.share <= 1
    with pytest.raises(EncoderError, match="two Gaussians"):
        project(Gaussians(zeros[:1], zeros[:1]))
