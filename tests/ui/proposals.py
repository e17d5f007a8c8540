"""An explanation of three premises, and a scorer that prefers it."""

from entail.arcf.scoring.scorer import ListedScorer, ScorerForm
from entail.data.records import Corpus

CLAIM = "snow is cold"
TEXTS = ["snow is ice", "ice is cold", "cold snow", "ice is frozen water", "iron is hard", "snow is cold"]
CORPUS = Corpus.of("six", TEXTS)
CHAIN = ["ice is frozen water", "snow is ice", "ice is cold"]
"""Explanation that the scorer of these tests prefers, in its order."""

LISTED = ListedScorer("mine", ScorerForm(), "mine@1")


def by_chain(prefix: list[str], candidate: list[str]) -> float:
    """The next of `CHAIN` is best; with all of it in the prefix, the explanation as it is."""
    before, words = " ".join(prefix), " ".join(candidate)
    left = [text for text in CHAIN if f"{text}." not in before]
    if not candidate:
        return 5.0 if not left else -5.0
    return 9.0 - left.index(words) if words in left else -len(words) / 100
