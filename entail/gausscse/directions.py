"""Directions of entailment between premises, or the joined premises of a step, and a sentence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from entail.data.text import fold
from entail.encoders.gaussian.distributions import Gaussians
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.gausscse.verdict import Verdict, find_truncated, judge_gaussians
from entail.index.gaussian import GaussianRows
from entail.index.vectors import QueryVectors


@dataclass(frozen=True)
class StepVerdict:
    """Direction between the joined premises of a step and its conclusion.

    Attributes:
        verdict: Verdict on the joined premises (`first`) and the conclusion (`second`).
        count: Number of premises.
        read: Number of premises, from the first, that the encoder read whole.
    """

    verdict: Verdict
    count: int
    read: int


class Directions:
    """Directions between premises and a sentence by one encoder, with a cache; safe for threads."""

    def __init__(self, encoder: GaussianEncoder) -> None:
        self.encoder = encoder
        self._cache = QueryVectors(GaussianRows(encoder))

    def between(self, premises: Sequence[str], sentence: str) -> list[Verdict]:
        """Return the verdict on each premise (`first`) and the sentence (`second`), in order.

        Raises:
            EncoderError: If the encoder cannot encode a text.
        """
        if not premises:
            return []
        texts = [sentence, *premises]
        gaussians = Gaussians.of(self._cache.encode(texts))
        return judge_gaussians(
            self.encoder.form,
            premises,
            [sentence] * len(premises),
            gaussians[1:],
            gaussians[[0] * len(premises)],
            truncated=find_truncated(self.encoder.cut, texts),
        )

    def step(self, premises: Sequence[str], conclusion: str) -> StepVerdict:
        """Return the verdict on the joined premises of a step and its conclusion.

        Raises:
            EncoderError: As `between`.
        """
        (verdict,) = self.between([join_premises(premises)], conclusion)
        read = count = len(premises)
        if "first" in verdict.truncated:
            read = bisect_left(
                range(1, count),
                True,
                key=lambda end: self.encoder.cut([join_premises(premises[:end])])[0],
            )
        return StepVerdict(verdict, count, read)


def join_premises(premises: Sequence[str]) -> str:
    """Return premises as one sentence.

    >>> join_premises(["ice is cold. ", "snow is a kind of ice"])
    'ice is cold and snow is a kind of ice'
    """
    return " and ".join(text for text in (fold(premise).rstrip(" .;") for premise in premises) if text)
