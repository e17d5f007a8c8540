"""Several rankings of the same questions as one, by the ranks that facts have in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from entail.arcf.chains.ranking import Ranked
from entail.arcf.scoring.inputs import most_dropped
from entail.data.worldtree.questions import Question
from entail.errors import SettingsError
from entail.index.protocol import Ints
from entail.progress import Meter, ProgressCallback

DAMPING = 60
"""Constant added to every rank (Cormack, Clarke and Buettcher, SIGIR 2009)."""

RankAll = Callable[[Sequence[Question]], Iterator[Ranked]]


class EnsembleRanker:
    """Ranks facts by reciprocal rank fusion: the sum over rankings of 1 / (60 + rank).

    The paper gives no rule for its ensemble of single-fact and path-rerank. This one needs no scores, which
    no two scorers have on the same scale.

    Args:
        parts: What ranks, at least two.

    Raises:
        SettingsError: If there are fewer.
    """

    def __init__(self, parts: Sequence[RankAll]) -> None:
        if len(parts) < 2:
            raise SettingsError(f"expected two rankings or more to put together, found {len(parts)}")
        self._parts = tuple(parts)

    def rank(
        self, questions: Sequence[Question], *, progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        """Yield the questions' rankings, in order; each question is ranked by all parts before the next.

        Raises:
            EvaluationError: If a score is not a number.
        """
        meter = Meter(len(questions), "ranking facts", unit="questions", report=progress)
        for several in zip(*(part(questions) for part in self._parts), strict=True):
            dropped = most_dropped(one.dropped for one in several)
            yield Ranked(several[0].question, fused([one.ranking for one in several]), dropped=dropped)
            meter.add(1)


def fused(rankings: Sequence[Ints]) -> Ints:
    """Return one ranking of several of all facts; of equal sums what the first ranks higher.

    >>> fused([np.array([0, 1, 2]), np.array([2, 1, 0]), np.array([2, 0, 1])]).tolist()
    [2, 0, 1]
    """
    sums = np.zeros(len(rankings[0]))
    for ranking in rankings:
        sums[ranking] += 1 / (DAMPING + np.arange(1, len(ranking) + 1))
    first = rankings[0]
    found: Ints = first[np.argsort(-sums[first], kind="stable")]
    return found
