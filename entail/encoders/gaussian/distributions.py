"""Divergence and similarity of sentences as diagonal Gaussians.

The entailing sentence of two has the larger variance (Yoda et al., *Sentence Representations via Gaussian
Embedding*): p entails h where sim(h || p) is large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from entail.encoders.gaussian.form import SimilarityKind
from entail.errors import EncoderError
from entail.progress import ProgressCallback

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]

LOG_VARIANCE_LIMIT = 10.0
"""Bound on the absolute log variance: no variance vanishes, nothing overflows."""

_SERIES_BELOW = 1e-3
_BLOCK = 1 << 17
"""Numbers (rows times d) in a step: about 1 MB an array."""


@dataclass(frozen=True, eq=False)
class Gaussians:
    """n diagonal Gaussians of d dimensions: mean and log variance, each (n, d), not copied.

    Log variances are within `LOG_VARIANCE_LIMIT`; `Gaussians.of` clips them. `revision` is the encoder's.

    Raises:
        EncoderError: If the shapes differ or are not (n, d), a number is not finite, or a log variance is
            beyond the limit.
    """

    mean: Floats
    log_variance: Floats
    revision: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _float32(self.mean, "means"))
        object.__setattr__(self, "log_variance", _float32(self.log_variance, "log variances"))
        if self.mean.ndim != 2 or self.mean.shape[1] == 0 or self.mean.shape != self.log_variance.shape:
            raise EncoderError(
                "expected means and log variances of one shape (n, d), found "
                f"{self.mean.shape} and {self.log_variance.shape}"
            )
        furthest = max(self.log_variance.max(initial=0), -self.log_variance.min(initial=0))
        if furthest > LOG_VARIANCE_LIMIT:
            raise EncoderError(
                f"expected log variances within {LOG_VARIANCE_LIMIT:g} of 0, found one {furthest:g} away; "
                "make the record by Gaussians.of, which cuts them"
            )

    @classmethod
    def of(cls, values: Floats, *, revision: str | None = None) -> Gaussians:
        """Return Gaussians from rows of 2d numbers: d means, then d log variances, clipped to the limit.

        >>> Gaussians.of(np.array([[0.5, 99.0]], dtype=np.float32)).log_variance
        array([[10.]], dtype=float32)

        Raises:
            EncoderError: If the shape is not (n, 2d), or a number is not finite.
        """
        values = _float32(values, "means and log variances")
        if values.ndim != 2 or values.shape[1] == 0 or values.shape[1] % 2:
            raise EncoderError(
                f"expected rows of d means and d log variances, shape (n, 2d), found {values.shape}"
            )
        mean, log_variance = np.split(values, 2, axis=1)
        return cls(mean, np.clip(log_variance, -LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT), revision)

    def __len__(self) -> int:
        return len(self.mean)

    def __getitem__(self, rows: Any) -> Gaussians:
        """Return the Gaussians of a slice, positions, a mask, or one position."""
        if isinstance(rows, int | np.integer):
            rows = [rows]
        return Gaussians(self.mean[rows], self.log_variance[rows], self.revision)

    def __repr__(self) -> str:
        return f"Gaussians({len(self)} of dimension {self.dimension})"

    @property
    def dimension(self) -> int:
        """d, the length of a mean."""
        return int(self.mean.shape[1])

    @property
    def values(self) -> Floats:
        """Rows of d means and d log variances, shape (n, 2d), as `Gaussians.of` takes them."""
        return np.concatenate([self.mean, self.log_variance], axis=1)


@runtime_checkable
class EncodesGaussians(Protocol):
    """Texts to Gaussians."""

    @property
    def name(self) -> str:
        """Display name."""

    @property
    def revision(self) -> str:
        """Revision of its Gaussians; it changes with the weights."""

    @property
    def dimension(self) -> int:
        """Length of a mean, d."""

    @property
    def kind(self) -> SimilarityKind:
        """Similarity that it was trained for."""

    def encode(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Gaussians:
        """Return one Gaussian a text, in order."""


def encode_pairs(
    encode: Callable[[list[str]], Gaussians], first: Sequence[str], second: Sequence[str]
) -> tuple[Gaussians, Gaussians]:
    """Return the Gaussians of pairs of texts, each distinct one encoded once."""
    if len(first) != len(second):
        raise EncoderError(f"expected pairs of texts, found {len(first)} and {len(second)}")
    row = {text: number for number, text in enumerate(dict.fromkeys([*first, *second]))}
    gaussians = encode(list(row))
    return gaussians[[row[text] for text in first]], gaussians[[row[text] for text in second]]


def divergence(first: Gaussians, second: Gaussians) -> Floats64:
    """Return KL(first_i || second_i) of each pair, shape (n,): 0 for equal ones, never negative or NaN.

    With x = log v1 - log v2::

        KL = 1/2 sum over dimensions of (e^x - 1 - x) + (mu1 - mu2)^2 / v2

    in double precision, e^x - 1 - x by its series for small x, where the difference would lose digits. One
    Gaussian on either side is paired with all of the other.

    >>> wide = Gaussians.of(np.array([[0, 2]])); narrow = Gaussians.of(np.array([[0, -2]]))
    >>> bool(divergence(narrow, wide)[0] < divergence(wide, narrow)[0])
    True

    Raises:
        EncoderError: If the numbers or dimensions of the two do not fit.
    """
    return np.concatenate([terms.sum(axis=1) for terms in _blocks(first, second)])


def similarity(first: Gaussians, second: Gaussians, *, kind: SimilarityKind) -> Floats64:
    """Return sim(first_i || second_i), shape (n,), at most 1: how much each second one entails the first.

    Pairs are those of `divergence`.

    Raises:
        EncoderError: If the two do not fit, or there is no such kind.
    """
    if kind != "kl_per_dim":
        return from_divergence(divergence(first, second), dimension=first.dimension, kind=kind)
    return np.concatenate([(1 / (1 + terms)).mean(axis=1) for terms in _blocks(first, second)])


def from_divergence(divergences: Floats64, *, dimension: int, kind: SimilarityKind) -> Floats64:
    """Return the similarities `kl` or `kl_mean` of divergences.

    Raises:
        EncoderError: If it is another kind.
    """
    if kind == "kl":
        return 1 / (1 + divergences)
    if kind == "kl_mean":
        return 1 / (1 + divergences / dimension)
    raise EncoderError(f"expected kl or kl_mean as similarity of a divergence, found {kind!r}")


def _float32(values: NDArray[Any], name: str) -> Floats:
    with np.errstate(over="ignore"):  # becomes infinite, and is refused
        numbers = np.asarray(values, dtype=np.float32)
    # Extremes, as isfinite would take a quarter of the memory of a million Gaussians again.
    if not np.isfinite([numbers.min(initial=0), numbers.max(initial=0)]).all():
        raise EncoderError(f"expected finite {name}, found NaN or infinity; the encoder's weights are broken")
    return numbers


def _blocks(first: Gaussians, second: Gaussians) -> Iterator[Floats64]:
    """Yield KL_i of each pair and dimension in blocks of rows, one at least."""
    fits = len(first) == len(second) or 1 in (len(first), len(second))
    if first.dimension != second.dimension or not fits:
        raise EncoderError(
            "expected Gaussians of one dimension, as many first as second or one of either, found "
            f"{first!r} and {second!r}"
        )
    count = len(second) if len(first) == 1 else len(first)
    rows = max(1, _BLOCK // first.dimension)
    for start in range(0, max(count, 1), rows):
        part = slice(start, start + rows)
        rows1, rows2 = (slice(None) if len(side) == 1 else part for side in (first, second))
        mean1, mean2 = first.mean[rows1].astype(np.float64), second.mean[rows2].astype(np.float64)
        log1, log2 = (
            first.log_variance[rows1].astype(np.float64),
            second.log_variance[rows2].astype(np.float64),
        )
        yield (_expm1_less(log1 - log2) + (mean1 - mean2) ** 2 * np.exp(-log2)) / 2


def _expm1_less(x: Floats64) -> Floats64:
    """Return e^x - 1 - x."""
    difference: Floats64 = np.expm1(x) - x
    small = np.abs(x) < _SERIES_BELOW
    if small.any():
        y = x[small]
        difference[small] = y**2 * (1 / 2 + y * (1 / 6 + y * (1 / 24 + y / 120)))
    return difference
