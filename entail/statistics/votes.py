r"""Votes of several judges on items, merged by number or by what the judges are worth.

A certainty lies between -1 (surely not) and 1 (surely), and is 0 where it is undecided.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]

Item = TypeVar("Item", bound=Hashable)
Ballots = Mapping[Item, Collection[tuple[str, bool]]]
"""Item -> judges and their votes; a judge who voted both ways stands there twice."""

Merging = Literal["agree", "majority", "weighted"]

_ROUNDS, _PRIOR = 30, 4.0
"""Rounds of estimation; votes of an average judge that are added to those of each."""


def unanimous(ballots: Ballots[Item]) -> dict[Item, float]:
    """Return 1 or -1 for items on which all judges agree, 0 for the others."""
    return {item: share if abs(share) == 1 else 0.0 for item, share in _shares(ballots).items()}


def majority(ballots: Ballots[Item]) -> dict[Item, float]:
    """Return 1 or -1, as most judges voted, 0 for a tie."""
    return {item: float((share > 0) - (share < 0)) for item, share in _shares(ballots).items()}


def weighted(ballots: Ballots[Item]) -> dict[Item, float]:
    """Return certainties that weigh each judge by the agreement with the others (Dawid and Skene 1979).

    Two rates of a judge are estimated on items with several votes: how often a vote is yes where the answer
    is yes, and where it is no. So an item of one judge is as certain as the judge is reliable elsewhere.
    Without an item of several judges nothing is known of them, and all votes are certain.

    >>> votes = {n: [("Ann", n < 5), ("Ben", n < 5), ("Cid", n % 2 == 0)] for n in range(10)}
    >>> certainty = weighted({**votes, "alone": [("Ann", True)], "doubtful": [("Cid", True)]})
    >>> certainty[4] > 0.9, certainty[8] < -0.9, certainty["alone"] > 0.8 > certainty["doubtful"]
    (True, True, True)
    """
    import numpy as np

    judges = {judge: at for at, judge in enumerate(sorted({j for cast in ballots.values() for j, _ in cast}))}
    rows = [(at, judges[j], vote) for at, cast in enumerate(ballots.values()) for j, vote in cast]
    item, judge, vote = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    number = np.bincount(item, minlength=len(ballots))
    several = number[item] > 1
    if not several.any():
        return _shares(ballots)
    probability = np.bincount(item, weights=vote) / number
    for _ in range(_ROUNDS):
        prior = np.clip(probability[number > 1].mean(), 1e-3, 1 - 1e-3)
        weight = np.stack([probability[item], 1 - probability[item]])[:, several]  # (is yes, is no)
        rates = [_rates(row, judge[several], vote[several], len(judges))[judge] for row in weight]
        evidence = np.where(vote, np.log(rates[0] / rates[1]), np.log((1 - rates[0]) / (1 - rates[1])))
        logits = np.log(prior / (1 - prior)) + np.bincount(item, weights=evidence)
        probability = 1 / (1 + np.exp(-logits))
    return dict(zip(ballots, (2 * probability - 1).tolist(), strict=True))


def _rates(weight: Floats, judge: Numbers, vote: Numbers, judges: int) -> Floats:
    """Return each judge's share of yes among weighted items, drawn towards that of all judges."""
    import numpy as np

    mean = (weight * vote).sum() / max(weight.sum(), 1e-9)
    yes = np.bincount(judge, weights=weight * vote, minlength=judges) + _PRIOR * mean
    number = np.bincount(judge, weights=weight, minlength=judges) + _PRIOR
    rates: Floats = np.clip(yes / number, 1e-3, 1 - 1e-3)
    return rates


def _shares(ballots: Ballots[Item]) -> dict[Item, float]:
    return {item: 2 * sum(vote for _, vote in cast) / len(cast) - 1 for item, cast in ballots.items()}


def merge(ballots: Ballots[Item], merging: Merging) -> dict[Item, float]:
    """Return the certainty of every item, merged in a way given by name."""
    if merging == "agree":
        return unanimous(ballots)
    return majority(ballots) if merging == "majority" else weighted(ballots)
