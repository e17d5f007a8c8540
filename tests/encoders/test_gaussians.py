"""Divergences are accurate, never negative and never NaN; invalid Gaussians are refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from entail.encoders.gaussian.distributions import (
    LOG_VARIANCE_LIMIT,
    Gaussians,
    divergence,
    from_divergence,
    similarity,
)
from entail.errors import EncoderError


def _reference(first: Gaussians, second: Gaussians) -> np.ndarray:
    """KL_i of each pair and dimension by the formula of the paper, with 150 digits."""
    from decimal import Decimal, localcontext

    divergences = np.empty(first.mean.shape)
    with localcontext() as context:
        context.prec = 150  # squares of the smallest float32 beside 1
        for index in np.ndindex(divergences.shape):
            mean1, log1 = Decimal(float(first.mean[index])), Decimal(float(first.log_variance[index]))
            mean2, log2 = Decimal(float(second.mean[index])), Decimal(float(second.log_variance[index]))
            spread = (log1.exp() + (mean1 - mean2) ** 2) / log2.exp()
            divergences[index] = float((log2 - log1 + spread - 1) / 2)
    return divergences


_shapes = st.tuples(st.integers(1, 3), st.integers(1, 4))
_mean = st.one_of(st.floats(-5, 5, width=32), st.floats(width=32, allow_nan=False, allow_infinity=False))
_log = st.one_of(
    st.floats(-10, 10, width=32),
    st.floats(-(2.0**-9), 2.0**-9, width=32),
    st.sampled_from([-10.0, 10.0, 0.0, 1.0, float(np.nextafter(np.float32(1), np.float32(2)))]),
)


@st.composite
def _pair(draw: Any) -> tuple[Gaussians, Gaussians]:
    shape = draw(_shapes)
    first = Gaussians(
        draw(arrays(np.float32, shape, elements=_mean)), draw(arrays(np.float32, shape, elements=_log))
    )
    if draw(st.booleans()):  # a near one: where digits cancel
        step = draw(st.sampled_from([0, 1, 3]))
        mean, log_variance = first.mean.copy(), first.log_variance.copy()
        for _ in range(step):
            mean = np.nextafter(mean, np.float32(0))
            log_variance = np.nextafter(log_variance, np.float32(0))
        return first, Gaussians(mean, log_variance)
    second = Gaussians(
        draw(arrays(np.float32, shape, elements=_mean)), draw(arrays(np.float32, shape, elements=_log))
    )
    return first, second


@given(_pair())
def test_divergences_and_similarities_agree_with_150_digits(pair: tuple[Gaussians, Gaussians]) -> None:
    first, second = pair
    exact = _reference(first, second)
    divergences = divergence(first, second)
    assert divergences.dtype == np.float64
    assert (divergences >= 0).all()
    np.testing.assert_allclose(divergences, exact.sum(axis=1), rtol=1e-10, atol=0)
    d = first.dimension
    for kind, expected in (
        ("kl", 1 / (1 + exact.sum(axis=1))),
        ("kl_mean", 1 / (1 + exact.sum(axis=1) / d)),
        ("kl_per_dim", (1 / (1 + exact)).mean(axis=1)),
    ):
        similarities = similarity(first, second, kind=kind)  # type: ignore[arg-type]  # one of the three
        assert (similarities > 0).all()
        assert (similarities <= 1).all()
        np.testing.assert_allclose(similarities, expected, rtol=1e-10)


def test_rows_of_values_there_and_back() -> None:
    values = np.array([[1, 2, 3, 4], [5, 6, 70, -80]], dtype=np.float32)
    gaussians = Gaussians.of(values)
    assert gaussians.mean.tolist() == [[1, 2], [5, 6]]
    assert gaussians.log_variance.tolist() == [[3, 4], [LOG_VARIANCE_LIMIT, -LOG_VARIANCE_LIMIT]]
    assert gaussians.values.tolist() == [[1, 2, 3, 4], [5, 6, 10, -10]]
    assert values[1, 2] == 70
    assert repr(gaussians) == "Gaussians(2 of dimension 2)"


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e39])
@pytest.mark.parametrize("column", [0, 2])
def test_what_is_not_finite_is_refused(value: float, column: int) -> None:
    values = np.zeros((3, 4))
    values[1, column] = value
    with pytest.raises(EncoderError):
        Gaussians.of(values)  # type: ignore[arg-type]  # doubles, as numpy makes them
    with pytest.raises(EncoderError):
        Gaussians(values[:, :2], values[:, 2:])  # type: ignore[arg-type]  # doubles, as numpy makes them


def test_gaussians_that_do_not_fit_are_refused() -> None:
    for shape in ((4,), (2, 3), (2, 0), (1, 2, 2)):
        with pytest.raises(EncoderError):
            Gaussians.of(np.zeros(shape, np.float32))
    with pytest.raises(EncoderError):
        Gaussians(np.zeros((1, 1), np.float32), np.full((1, 1), 10.5, np.float32))
    two, three, wide = (Gaussians.of(np.zeros(shape, np.float32)) for shape in ((2, 4), (3, 4), (2, 6)))
    with pytest.raises(EncoderError):
        divergence(two, three)
    with pytest.raises(EncoderError):
        similarity(two, wide, kind="kl_per_dim")
    unknown: Any = "cosine"
    with pytest.raises(EncoderError):
        similarity(two, two, kind=unknown)
    with pytest.raises(EncoderError):
        from_divergence(np.zeros(1), dimension=2, kind="kl_per_dim")
