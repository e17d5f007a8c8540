"""Truncation of questions, explanations and premises that exceed a scorer's maximum length."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from entail.arcf.chains.ranking import Ranked


@dataclass(frozen=True, kw_only=True)
class Truncation:
    """Counts of truncated questions, explanations and premises.

    Attributes:
        questions_cut: Questions whose beginning was not read.
        explanations_cut: Explanations that grew too long: their oldest facts were not read at the end.
        facts_cut: Facts whose end was not read.
    """

    questions_cut: int = 0
    explanations_cut: int = 0
    facts_cut: int = 0

    @classmethod
    def of(cls, ranked: Iterable[Ranked], *, facts_cut: int) -> Truncation:
        """Count what was dropped of rankings."""
        dropped = [one.dropped for one in ranked]
        return cls(
            questions_cut=sum(count < 0 for count in dropped),
            explanations_cut=sum(count > 0 for count in dropped),
            facts_cut=facts_cut,
        )

    def to_json(self) -> dict[str, int]:
        """Return it of JSON's types."""
        return asdict(self)

    def in_words(self) -> list[str]:
        """Return one sentence for each kind of truncation; nothing if there was none.

        >>> Truncation(explanations_cut=2).in_words()
        ['2 explanations grew longer than is read: their oldest facts were dropped']
        """
        told = {
            "explanations grew longer than is read: their oldest facts were dropped": self.explanations_cut,
            "questions are longer than is read: their beginning was dropped": self.questions_cut,
            "facts are longer than half of what is read: their ends were cut, and beside them every question "
            "and explanation has the other half": self.facts_cut,
        }
        return [f"{count:,} {words}" for words, count in told.items() if count]
