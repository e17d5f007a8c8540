"""Votes of several judges, merged."""

import numpy as np
import pytest

from entail.data.judgements import JudgedPair, Judgements
from entail.statistics.votes import Merging, merge

VOTES = {
    "both": "A+ B+",
    "neither": "A- B-",
    "tie": "A+ B-",
    "most": "A+ B- C+",
    "alone": "A+",
    "torn": "A+ A-",
}
BALLOTS = {item: [(vote[0], vote[1] == "+") for vote in votes.split()] for item, votes in VOTES.items()}


@pytest.mark.parametrize(
    ("merging", "expected"),
    [
        ("agree", {"both": 1, "neither": -1, "tie": 0, "most": 0, "alone": 1, "torn": 0}),
        ("majority", {"both": 1, "neither": -1, "tie": 0, "most": 1, "alone": 1, "torn": 0}),
    ],
)
def test_unanimity_and_majority(merging: Merging, expected: dict[str, float]) -> None:
    assert merge(BALLOTS, merging) == expected


def test_judges_weigh_as_much_as_they_are_worth() -> None:
    draw = np.random.default_rng(0)
    rates = {"Ann": 0.05, "Ben": 0.3, "Cid": 0.4}
    truth = dict(enumerate((draw.random(2000) < 0.2).tolist()))
    ballots = {
        n: [(name, yes != (draw.random() < rate)) for name, rate in rates.items()] for n, yes in truth.items()
    }
    alone = {n: row[n % 3 : n % 3 + 1] if n % 2 else row for n, row in ballots.items()}
    wrong = {
        merging: np.mean([(value > 0) != truth[n] for n, value in merge(alone, merging).items()])
        for merging in ("majority", "weighted")
    }
    assert wrong["weighted"] < 0.65 * wrong["majority"]
    certainty = merge(alone, "weighted")
    sizes = {
        name: np.mean([abs(certainty[n]) for n, row in alone.items() if [name] == [j for j, _ in row]])
        for name in rates
    }
    assert sizes["Ann"] > sizes["Ben"] > sizes["Cid"]
    assert max(map(abs, certainty.values())) < 1


def test_votes_of_single_judges_are_taken_as_they_are() -> None:
    ballots = {1: [("Ann", True)], 2: [("Ben", False)]}
    assert merge(ballots, "weighted") == merge(ballots, "agree") == {1: 1, 2: -1}
    assert merge({}, "weighted") == {}


def test_merged_judgements_keep_their_certainty() -> None:
    pairs = [
        JudgedPair(f"q{n}", premise, accepted, author)
        for n in range(20)
        for author, wrong in (("Ann", False), ("Ben", False), ("Cid", n % 2 == 0))
        for premise, accepted in (("a", not wrong), ("b", wrong))
    ]
    assert Judgements.of_pairs(pairs).explains("q2", "a") is None
    assert Judgements.of_pairs(pairs, merging="majority").weights == {}
    judgements = Judgements.of_pairs(pairs, merging="weighted")
    assert (judgements.explains("q2", "a"), judgements.explains("q2", "b")) == (True, False)
    assert 0.5 < judgements.weights["q2"]["a"] < 1
    assert judgements.weights.keys() == judgements.accepted.keys()
