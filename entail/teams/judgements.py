r"""Agreement of annotators on candidates that they judged both, accepted or rejected.

Cohen's kappa of two annotators, Fleiss' kappa of all on candidates that as many judged, and Krippendorff's
alpha, which any number of judgements a candidate allows:

.. math:: \alpha = 1 - \frac{\sum_u \frac{2 a_u r_u}{m_u - 1}}{\frac{2 A R}{n - 1}}

with a_u acceptances and r_u rejections of candidate u, m_u = a_u + r_u > 1, and A, R, n their sums.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

Judged = Mapping[Hashable, Mapping[str, bool]]
"""Candidate of a node -> annotator -> whether it was accepted."""


@dataclass(frozen=True)
class PairAgreement:
    """Cohen's kappa of two annotators over `n` candidates; None where one of both always judged the same."""

    first: str
    second: str
    kappa: float | None
    n: int


@dataclass(frozen=True)
class JudgementAgreement:
    """Agreement on candidates.

    Attributes:
        pairs: Of each two annotators who judged a candidate both.
        fleiss: Fleiss' kappa over the candidates that all annotators judged; None without, or if all agree on
            one answer.
        alpha: Krippendorff's alpha over the candidates that two or more judged; None as above.
        n: Number of these candidates.
        complete: Number of candidates that all annotators judged.
    """

    pairs: tuple[PairAgreement, ...]
    fleiss: float | None
    alpha: float | None
    n: int
    complete: int


def judgement_agreement(judged: Judged) -> JudgementAgreement:
    """Return the agreement on candidates.

    >>> rows = [(True, True), (False, False), (True, False)]
    >>> result = judgement_agreement({at: {"Ada": a, "Ben": b} for at, (a, b) in enumerate(rows)})
    >>> round(result.pairs[0].kappa, 3), round(result.alpha, 3), result.n
    (0.4, 0.444, 3)
    """
    shared = [row for row in judged.values() if len(row) > 1]
    names = sorted({name for row in shared for name in row})
    complete = [row for row in shared if len(row) == len(names)]
    pairs = []
    for first, second in combinations(names, 2):
        if both := [(row[first], row[second]) for row in shared if first in row and second in row]:
            pairs.append(PairAgreement(first, second, _cohen(both), len(both)))
    return JudgementAgreement(
        tuple(pairs), _fleiss(complete, len(names)), _alpha(shared), len(shared), len(complete)
    )


def _cohen(pairs: Iterable[tuple[bool, bool]]) -> float | None:
    table = np.array(list(pairs), dtype=np.float64)
    observed = float((table[:, 0] == table[:, 1]).mean())
    first, second = table.mean(axis=0)
    expected = float(first * second + (1 - first) * (1 - second))
    return (observed - expected) / (1 - expected) if expected < 1 else None


def _fleiss(rows: Iterable[Mapping[str, bool]], annotators: int) -> float | None:
    accepted = np.array([sum(row.values()) for row in rows], dtype=np.float64)
    if not len(accepted):
        return None
    share = accepted.sum() / (len(accepted) * annotators)
    expected = share**2 + (1 - share) ** 2
    agreeing = accepted * (accepted - 1) + (annotators - accepted) * (annotators - accepted - 1)
    observed = agreeing.mean() / (annotators * (annotators - 1))
    return float((observed - expected) / (1 - expected)) if expected < 1 else None


def _alpha(rows: Iterable[Mapping[str, bool]]) -> float | None:
    counts = np.array([(sum(row.values()), len(row)) for row in rows], dtype=np.float64).reshape(-1, 2)
    accepted, number = counts.T
    total = number.sum()
    expected = 2 * accepted.sum() * (total - accepted.sum())
    if not expected:
        return None
    observed = (2 * accepted * (number - accepted) / (number - 1)).sum()
    return float(1 - observed * (total - 1) / expected)
