"""Projection of two Gaussians onto a plane, as ellipses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entail.encoders.gaussian.distributions import Floats64, Gaussians
from entail.errors import EncoderError

_LEAST = 1e-12


@dataclass(frozen=True)
class Projection:
    """Means (2, 2) and covariances (2, 2, 2) of two Gaussians on the plane on which they differ most.

    `share` is that of all variance, within them and between their means, on the plane.
    """

    means: Floats64
    covariances: Floats64
    share: float


def project(pair: Gaussians) -> Projection:
    """Project two Gaussians: along the difference of their means, and across it where variances differ most.

    Raises:
        EncoderError: If they are not two, of two dimensions or more.
    """
    if len(pair) != 2 or pair.dimension < 2:
        raise EncoderError(f"expected two Gaussians of two dimensions or more, found {pair!r}")
    mean = pair.mean.astype(np.float64)
    variance = np.exp(pair.log_variance.astype(np.float64))
    d = pair.dimension
    across = mean[0] - mean[1]
    length = np.linalg.norm(across)
    first = across / length if length > 0 else np.eye(d)[int(np.argmax(variance.sum(axis=0)))]
    rest = np.eye(d) - np.outer(first, first)
    contrast = rest @ np.diag(variance[0] - variance[1]) @ rest
    values, vectors = np.linalg.eigh(contrast)
    second = vectors[:, int(np.argmax(np.abs(values)))]
    if np.abs(values).max() < _LEAST:  # equal variances: any direction across will do
        second = rest[:, int(np.argmax(np.diag(rest)))]
    second = second - first * (first @ second)
    second /= np.linalg.norm(second)
    axes = np.stack([first, second], axis=1)  # (d, 2)
    middle = mean.mean(axis=0)
    covariances = np.stack([axes.T @ (variance[i][:, None] * axes) for i in (0, 1)])
    between = np.square(mean - middle).sum() / 2
    plane_variance = (
        np.trace(covariances, axis1=1, axis2=2).mean() + np.square((mean - middle) @ axes).sum() / 2
    )
    whole = variance.sum(axis=1).mean() + between
    return Projection((mean - middle) @ axes, covariances, float(plane_variance / whole))


def ellipse(mean: Floats64, covariance: Floats64, *, points: int = 72) -> Floats64:
    """Return the line one standard deviation around a mean, closed, shape (points + 1, 2)."""
    angles = np.linspace(0, 2 * np.pi, points + 1)
    values, vectors = np.linalg.eigh(covariance)
    radii = np.sqrt(np.clip(values, 0, None))
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (points + 1, 2)
    line: Floats64 = mean + (circle * radii) @ vectors.T
    return line
