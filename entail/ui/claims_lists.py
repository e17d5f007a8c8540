"""What two retrievers bring for a question and for its claim: four lists, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from entail.index.protocol import Floats, PremiseIndex
from entail.index.ranking import top_k

Wording = Literal["question", "claim"]
WORDINGS: tuple[Wording, Wording] = ("question", "claim")

Place = tuple[int, Wording]
"""Which list: of the first or second retriever (0, 1), for which wording."""

PLACES: tuple[Place, ...] = ((0, "question"), (1, "question"), (0, "claim"), (1, "claim"))


@dataclass(frozen=True)
class Row:
    """A passage in a list.

    Attributes:
        position: Of the passage.
        rank: In this list, from 1.
        score: Its similarity there.
        other: Its rank in the list beside; 0 where that does not find it at all.
    """

    position: int
    rank: int
    score: float
    other: int

    def moved(self, k: int) -> str:
        """Return how it stands against the list beside it: "new", "=", "+2" (two ranks better), "-3".

        >>> Row(7, 1, 0.5, 3).moved(10), Row(7, 1, 0.5, 30).moved(10), Row(7, 2, 0.5, 2).moved(10)
        ('+2', 'new', '=')
        """
        if self.other == 0 or self.other > k:
            return "new"
        return "=" if self.other == self.rank else f"{self.other - self.rank:+d}"


@dataclass(frozen=True)
class Lists:
    """Four lists over one pool.

    Attributes:
        names: Of the two retrievers.
        k: Passages of each list.
        positions: List -> positions, best first; fewer than k where a retriever of words finds no more.
        scores: List -> their similarities.
        ranks: List -> rank of every position in any list and of every gold one; 0 where it is not found.
        gold: Positions that answer the question.
    """

    names: tuple[str, str]
    k: int
    positions: Mapping[Place, tuple[int, ...]]
    scores: Mapping[Place, tuple[float, ...]]
    ranks: Mapping[Place, Mapping[int, int]]
    gold: frozenset[int] = frozenset()

    def rows(self, place: Place, beside: Place) -> list[Row]:
        """Return a list with where each of its passages stands in the one beside it."""
        found = zip(self.positions[place], self.scores[place], strict=True)
        return [
            Row(position, rank, score, self.ranks[beside][position])
            for rank, (position, score) in enumerate(found, start=1)
        ]

    def shared(self, place: Place, beside: Place) -> int:
        """Return how many passages are in both."""
        return len({*self.positions[place]} & {*self.positions[beside]})

    def first_gold(self, place: Place) -> int | None:
        """Return the rank of the first gold passage; 0 where none is found, None where none is known."""
        if not self.gold:
            return None
        ranks = [self.ranks[place][position] for position in self.gold]
        return min((rank for rank in ranks if rank), default=0)

    @property
    def all_positions(self) -> tuple[int, ...]:
        """Every passage in any list, once."""
        return tuple(dict.fromkeys(at for some in self.positions.values() for at in some))


def four_lists(
    indexes: tuple[PremiseIndex, PremiseIndex],
    question: str,
    claim: str,
    *,
    k: int,
    gold: frozenset[int] = frozenset(),
) -> Lists:
    """Search by both retrievers for both wordings.

    What shares no word with a query is not found by a retriever of words.

    Args:
        indexes: Both over the same passages.
        question: The question.
        claim: Its claim.
        k: Passages of each list.
        gold: Positions that answer.

    Raises:
        RetrievalError: If question or claim is empty.
        EncoderError: If an encoder cannot be loaded.
    """
    scores: dict[Place, Floats] = {}
    for number, index in enumerate(indexes):
        both = index.scores([question, claim])
        for wording, row in zip(WORDINGS, both, strict=True):
            known = index.manifest.dimension > 0
            scores[number, wording] = row if known else np.where(row > 0, row, -np.inf)
    found = {place: _best(row, k) for place, row in scores.items()}
    wanted = sorted({at for some in found.values() for at in some} | gold)
    return Lists(
        (indexes[0].name, indexes[1].name),
        k,
        found,
        {place: tuple(float(scores[place][at]) for at in some) for place, some in found.items()},
        {place: _ranks(row, wanted) for place, row in scores.items()},
        gold,
    )


def _best(row: Floats, k: int) -> tuple[int, ...]:
    positions = top_k(row[None], k).positions[0].tolist()
    return tuple(at for at in positions if np.isfinite(row[at]))


def _ranks(row: Floats, wanted: Sequence[int]) -> dict[int, int]:
    """Return the ranks of some positions; equal scores stand in order of position."""
    return {
        at: int((row > row[at]).sum() + (row[:at] == row[at]).sum()) + 1 if np.isfinite(row[at]) else 0
        for at in wanted
    }
