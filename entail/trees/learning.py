"""Whether a team decided enough to learn from, and what a training would take in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from entail.aeenc.pairs import TrainingPairs, judged_pairs, training_corpus
from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.data.text import fold
from entail.encoders.catalogue import PACKAGED
from entail.errors import TrainingError
from entail.index.retriever import LEXICAL
from entail.trees.decisions import judgements_of, pairs_of
from entail.trees.log import TreeLog
from entail.trees.tree import Tree

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_LONGEST_SLUG = 40


@dataclass(frozen=True, slots=True)
class Decided:
    """What can be learnt from, counted: rejections count where something was accepted.

    Attributes:
        accepted: Premises that explain a node.
        rejected: Premises that do not, for nodes of which some do.
        nodes: Nodes with accepted premises.
    """

    accepted: int = 0
    rejected: int = 0
    nodes: int = 0

    def __add__(self, other: Decided) -> Decided:
        """Count both together."""
        return Decided(
            self.accepted + other.accepted, self.rejected + other.rejected, self.nodes + other.nodes
        )

    def lacking(self, enough: Decided) -> Decided:
        """Return what is missing to have enough; nothing but zeros if nothing is."""
        return Decided(
            max(0, enough.accepted - self.accepted),
            max(0, enough.rejected - self.rejected),
            max(0, enough.nodes - self.nodes),
        )


ENOUGH = Decided(accepted=10, rejected=10, nodes=3)
"""With less than this, what is learnt is these sentences and nothing else."""


def decided(tree: Tree) -> Decided:
    """Count what a tree says; what is judged both ways in it counts for nothing."""
    return _counted(Judgements.of_pairs(pairs_of(tree)))


def _counted(said: Judgements) -> Decided:
    return Decided(
        accepted=sum(map(len, said.accepted.values())),
        rejected=sum(len(premises) for query, premises in said.rejected.items() if query in said.accepted),
        nodes=len(said.accepted),
    )


@dataclass(frozen=True)
class Lesson:
    """What a training would learn from, and what it would leave out.

    Attributes:
        trees: Trees with decisions.
        judgements: What their authors said.
        pairs: What of it is learnt from.
        outside: Accepted or rejected sentences that are not in the corpus: conclusions, an author's own
            words, retired facts. They are learnt from too.
    """

    trees: int
    judgements: Judgements
    pairs: TrainingPairs
    outside: tuple[str, ...]

    @property
    def decided(self) -> Decided:
        """The same counted, every pair once, however many trees say it."""
        return _counted(self.judgements)

    @property
    def left_out(self) -> dict[str, int]:
        """Reason in words -> decisions that are not learnt from; no reason without one."""
        reasons = {
            "accepted and also rejected for the same sentence": len(self.judgements.contradictions),
            "rejected for sentences of which nothing is accepted": self.pairs.dropped.get(
                "without_positive", 0
            ),
        }
        return {reason: count for reason, count in reasons.items() if count}

    def rows(self) -> Iterator[tuple[str, str, str, bool]]:
        """Yield sentence, premise, what becomes of the pair, whether the premise is in the corpus."""
        outside, said = frozenset(self.outside), self.judgements
        for pair in said.pairs():
            if pair.accepted:
                what = "explains it"
            else:
                what = "does not" if pair.query in said.accepted else "left out: nothing is accepted for it"
            yield pair.query, pair.premise, what, pair.premise not in outside
        for query, premise in said.contradictions:
            yield query, premise, "left out: judged both ways", premise not in outside


def lesson_of(log: TreeLog, corpus: Corpus, *, corpus_id: str) -> Lesson:
    """Return what a training from the decisions on this corpus would take in.

    Raises:
        TrainingError: If nothing was accepted.
    """
    said = judgements_of(log, corpus_id=corpus_id)
    summaries = [s for archived in (False, True) for s in log.trees(corpus_id=corpus_id, archived=archived)]
    trees = sum(bool(s.steps or s.judgements) for s in summaries if not s.example)
    judged = dict.fromkeys(fold(pair.premise) for pair in said.pairs())
    return Lesson(
        trees=trees,
        judgements=said,
        pairs=judged_pairs(training_corpus(corpus, judgements=said), said),
        outside=tuple(text for text in judged if corpus.position(text) is None),
    )


def name_for(corpus_name: str, taken: Collection[str]) -> str:
    """Return a name for an encoder that learns from a team: `team-<corpus>-<n>`, the first that is free.

    >>> name_for("Sky & Sun (2024)", {"team-sky-sun-2024-1"})
    'team-sky-sun-2024-2'
    """
    plain = unicodedata.normalize("NFKD", corpus_name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:_LONGEST_SLUG].strip("-") or "corpus"
    used = {name.lower() for name in taken}
    number = 1
    while f"team-{slug}-{number}" in used:
        number += 1
    return f"team-{slug}-{number}"


def check_name(name: str, taken: Collection[str]) -> None:
    """Check that an encoder can be called so.

    Raises:
        TrainingError: If it cannot: it is a folder under `models/`, and stands for one encoder for good.
    """
    if not _NAME.fullmatch(name) or name.endswith((".", ".training")):
        raise TrainingError(
            "expected a name of letters a to z, digits, '.', '-' and '_' that begins with a letter or a "
            f"digit, 80 characters at most, found {name!r}"
        )
    if name.lower() in {PACKAGED, *LEXICAL, *(other.lower() for other in taken)}:
        raise TrainingError(
            f"there is an encoder called {name!r} already, and decisions may rest on it; take another name"
        )
