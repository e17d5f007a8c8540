"""Directions of premises: each premise and its sentence, and the premises of a step together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from entail.data.text import fold
from entail.encoders.gaussian.distributions import Gaussians
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.gausscse.verdict import Verdict, judged, longer_than_read
from entail.index.gaussian import GaussianRows
from entail.index.vectors import QueryVectors
from entail.progress import ProgressCallback

Only = Literal["all", "entails", "is entailed by", "neither"]
"""Directions that can be kept; one that points both ways is of both kinds."""

Order = Literal["rank", "similarity", "margin"]
"""As they came; by how much each entails the sentence; by how surely it points that way and not the other."""

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class StepVerdict:
    """Direction between the joined premises of a step and its conclusion.

    Attributes:
        verdict: On the joined premises (`first`) and the conclusion (`second`).
        count: How many premises the step has.
        read: How many of them, from the first on, the encoder read whole; of the next at most the beginning.
    """

    verdict: Verdict
    count: int
    read: int


class Arrows:
    """Directions between premises and a sentence by one encoder; texts are encoded once.

    Threads may share it.

    Args:
        encoder: Makes the Gaussians.
        capacity: Gaussians kept, those used last (4,096 of MiniLM are 13 MB).
    """

    def __init__(self, encoder: GaussianEncoder, *, capacity: int = 4096) -> None:
        self.encoder = encoder
        self._known = QueryVectors(GaussianRows(encoder), capacity=capacity)

    def between(
        self, premises: Sequence[str], sentence: str, *, progress: ProgressCallback | None = None
    ) -> list[Verdict]:
        """Return what each premise (`first`) does to the sentence (`second`), in order.

        Raises:
            EncoderError: If something has to be encoded and the encoder cannot.
        """
        if not premises:
            return []
        found = Gaussians.of(self._known.encode([sentence, *premises], progress=progress))
        whole = [sentence] * len(premises)
        sides = found[1:], found[[0] * len(premises)]
        longer = longer_than_read(self.encoder.cut, [sentence, *premises])
        return judged(self.encoder.form, premises, whole, *sides, longer=longer)

    def step(self, premises: Sequence[str], conclusion: str) -> StepVerdict:
        """Return what the premises of a step, joined, do to its conclusion.

        Raises:
            EncoderError: As `between`.
        """
        (verdict,) = self.between([joined(premises)], conclusion)
        read = count = len(premises)
        if "first" in verdict.truncated:  # the more premises, the longer: the first number that is too long
            read = bisect_left(range(1, count), True, key=lambda some: self._too_long(premises[:some]))
        return StepVerdict(verdict, count, read)

    def _too_long(self, premises: Sequence[str]) -> bool:
        return self.encoder.cut([joined(premises)])[0]


def joined(premises: Sequence[str]) -> str:
    """Return premises as one sentence, which says what all of them say.

    >>> joined(["ice is cold. ", "snow is a kind of ice"])
    'ice is cold and snow is a kind of ice'
    """
    return " and ".join(text for text in (fold(premise).rstrip(" .;") for premise in premises) if text)


def arranged(
    items: Sequence[_Item], verdicts: Sequence[Verdict], *, only: Only = "all", order: Order = "rank"
) -> list[_Item]:
    """Return the items whose arrows are wanted, in the order that is; ties as they came.

    >>> narrow, wide = (Verdict(t, "s", f, b, says, f - b, None, None) for t, f, b, says in
    ...     [("n", 0.4, 0.6, "is entailed by"), ("w", 0.7, 0.2, "entails")])
    >>> arranged(["n", "w"], [narrow, wide], order="similarity")
    ['w', 'n']
    >>> arranged(["n", "w"], [narrow, wide], only="is entailed by")
    ['n']

    Args:
        items: What is arranged.
        verdicts: What each does to its sentence, as many.
        only: See `Only`.
        order: See `Order`.
    """
    kept = [
        (item, verdict)
        for item, verdict in zip(items, verdicts, strict=True)
        if only == "all" or verdict.says == only or (verdict.says == "both ways" and only != "neither")
    ]
    if order == "similarity":
        kept.sort(key=lambda pair: -pair[1].forward)
    elif order == "margin":
        kept.sort(key=lambda pair: -pair[1].margin)
    return [item for item, _ in kept]
