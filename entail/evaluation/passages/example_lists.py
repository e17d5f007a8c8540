"""Passage lists of the examples over the bundled corpus, which ship so that they need no encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from entail.data.bundled import read_shipped, sample_dir
from entail.data.text import fold
from entail.evaluation.passages.wordings import LIST_KEYS, PassageLists

FILE = "claim_lists.json"
"""File next to the bundled corpus; `scripts/build_openings.py` writes it."""


@dataclass(frozen=True)
class StoredLists:
    """Lists of one question and its claim, each field in the order of `LIST_KEYS`.

    Attributes:
        ranks: Position of a listed or gold passage, then its rank in each list.
    """

    question: str
    claim: str
    gold: list[int]
    positions: list[list[int]]
    scores: list[list[float]]
    ranks: list[list[int]]

    @classmethod
    def of(cls, lists: PassageLists, question: str, claim: str) -> StoredLists:
        """Return lists as they are stored."""
        at = sorted({*lists.all_positions, *lists.gold})
        return cls(
            question,
            claim,
            sorted(lists.gold),
            [list(lists.positions[key]) for key in LIST_KEYS],
            [[round(score, 6) for score in lists.scores[key]] for key in LIST_KEYS],
            [[position, *(lists.ranks[key][position] for key in LIST_KEYS)] for position in at],
        )

    def cut(self, names: tuple[str, str], k: int) -> PassageLists:
        """Return the first k passages of each list."""
        return PassageLists(
            names,
            k,
            {key: tuple(positions[:k]) for key, positions in zip(LIST_KEYS, self.positions, strict=True)},
            {key: tuple(scores[:k]) for key, scores in zip(LIST_KEYS, self.scores, strict=True)},
            {key: {row[0]: row[1 + i] for row in self.ranks} for i, key in enumerate(LIST_KEYS)},
            frozenset(self.gold),
        )


@dataclass(frozen=True)
class ExampleLists:
    """Lists of all examples by two retrievers, to depth k, over the corpus of a hash."""

    names: list[str]
    revisions: list[str]
    corpus_hash: str
    k: int
    examples: list[StoredLists]


def find_lists(
    names: tuple[str, str],
    revisions: Sequence[str | None],
    corpus_hash: str,
    question: str,
    claim: str,
    *,
    k: int,
    gold: frozenset[int],
    folder: Path | None = None,
) -> PassageLists | None:
    """Return the lists that ship; None unless they are of just these retrievers, passages and texts."""
    stored = read_lists(folder or sample_dir())
    if stored is None or k > stored.k or stored.corpus_hash != corpus_hash:
        return None
    if (*names, *revisions) != (*stored.names, *stored.revisions):
        return None
    target = fold(question), fold(claim), sorted(gold)
    for example in stored.examples:
        if (fold(example.question), fold(example.claim), example.gold) == target:
            return example.cut(names, k)
    return None


def read_lists(folder: Path) -> ExampleLists | None:
    """Return the lists of a folder; None if they are missing or damaged: the encoders answer instead."""
    return read_shipped(folder / FILE, ExampleLists)
