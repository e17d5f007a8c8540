r"""Agreement of annotators on trees, corrected for chance.

Krippendorff's coefficient, with the distance of two trees one less the F1 of what they have in common:

.. math::

    \alpha = 1 - \frac{D_o}{D_e}, \qquad
    \delta(A, B) = 1 - \frac{2 |A \cap B|}{|A| + |B|}

Do is the mean distance of the copies of one hypothesis, De that of all trees, whatever their hypothesis
(Krippendorff, *Content Analysis*, chapter 12). 1 is perfect agreement, 0 that of chance.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from entail.statistics.paired import SAMPLES, SEED, interval
from entail.teams.shapes import Shape

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Aspect = Literal["clades", "steps", "leaves"]
"""Parts of trees that are compared: nodes by the leaves below them, steps, or leaves alone."""

ASPECTS: tuple[Aspect, ...] = ("clades", "steps", "leaves")


@dataclass(frozen=True)
class Agreement:
    """Agreement on trees.

    Attributes:
        alpha: Krippendorff's alpha; None if there are no two different trees.
        low: Lower end of its 95 % interval, by bootstrap over hypotheses with De as it is (Hayes and
            Krippendorff 2007); None without alpha.
        high: Upper end.
        observed: Mean similarity (F1, of leaves Jaccard) of the copies of a hypothesis.
        expected: Mean similarity of all trees.
        hypotheses: Hypotheses with two copies or more.
        trees: Their copies.
    """

    alpha: float | None
    low: float | None
    high: float | None
    observed: float
    expected: float
    hypotheses: int
    trees: int


def similarity(first: Shape, second: Shape, aspect: Aspect = "clades") -> float:
    """Return the F1 of what two trees have in common, of leaves Jaccard's index; of two empty ones 1.

    >>> one, other = (Shape.of({"h": ids}, dict(zip(ids, ids)), "h") for ids in ("ab", "bc"))
    >>> similarity(one, other), similarity(one, other, "leaves")
    (0.5, 0.3333333333333333)
    """
    a, b = getattr(first, aspect), getattr(second, aspect)
    shared, sizes = len(a & b), len(a) + len(b)
    return float(_scale(np.array(shared), np.array(sizes), aspect))


def _scale(shared: NDArray[np.int64], sizes: NDArray[np.int64], aspect: Aspect) -> Floats:
    whole = sizes - shared if aspect == "leaves" else sizes
    parts = shared if aspect == "leaves" else 2 * shared
    values: Floats = np.divide(parts, whole, out=np.ones(np.shape(shared)), where=whole > 0)
    return values


def agreement(
    copies: Mapping[Hashable, Sequence[Shape]], aspect: Aspect = "clades", *, seed: int = SEED
) -> Agreement:
    """Return the agreement of the copies of each hypothesis; one with a single copy does not count.

    Args:
        copies: Hypothesis -> the shapes of its trees, one an annotator.
        aspect: What is compared.
        seed: Seed of the bootstrap.
    """
    groups = [list(shapes) for shapes in copies.values() if len(shapes) > 1]
    trees = [shape for shapes in groups for shape in shapes]
    if not groups:
        return Agreement(None, None, None, 0.0, 0.0, 0, 0)
    sizes = np.array([len(shapes) for shapes in groups])
    n = len(trees)
    sums = _similarities(trees, np.repeat(np.arange(len(groups)), sizes), len(groups), aspect)
    # Pairs of a hypothesis weigh as much as its trees, whatever their number (Krippendorff).
    own = (sums.diagonal() - sizes) / (sizes - 1)
    observed, expected = float(own.sum() / n), float((sums.sum() - n) / (n * (n - 1)))
    counts = {"hypotheses": len(groups), "trees": n}
    if expected == 1:
        return Agreement(None, None, None, observed, expected, **counts)
    # Hypotheses of the same values are drawn together: few values differ, however many hypotheses.
    (similar, trees_each), repeated = np.unique([own.round(12), sizes], axis=1, return_counts=True)
    draw = np.random.default_rng(seed)
    parts = (draw.multinomial(len(groups), repeated / len(groups), SAMPLES // 20) for _ in range(20))
    inside = np.concatenate([(draws @ similar) / (draws @ trees_each) for draws in parts])
    low, high = interval((inside - expected) / (1 - expected))
    return Agreement((observed - expected) / (1 - expected), low, high, observed, expected, **counts)


def _similarities(trees: Sequence[Shape], unit: NDArray[np.int64], units: int, aspect: Aspect) -> csr_array:
    """Return the sum of similarities of the trees of two hypotheses, a tree with itself included.

    Trees of different hypotheses share little, so the matrix is sparse.
    """
    from scipy.sparse import coo_array, csr_array

    # Two empty trees are equal: what they have in common is that they have nothing.
    parts = [list(getattr(tree, aspect)) or [None] for tree in trees]
    column: dict[Hashable | None, int] = {}
    columns = [column.setdefault(part, len(column)) for row in parts for part in row]
    count = np.array([len(row) for row in parts])
    has = csr_array(
        (np.ones(len(columns), np.int64), columns, np.concatenate([[0], np.cumsum(count)])),
        shape=(len(trees), max(1, len(column))),
    )
    shared = (has @ has.T).tocoo()
    values = _scale(shared.data, count[shared.row] + count[shared.col], aspect)
    return csr_array(coo_array((values, (unit[shared.row], unit[shared.col])), shape=(units, units)))
