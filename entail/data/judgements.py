"""Relevance judgements: complete ones of gold trees, or partial ones of authors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from entail.data.records import ExplanationTree, gold_children
from entail.data.text import fold
from entail.statistics.votes import Merging, merge


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Judgement of an author on one premise as explanation of a query (the text of a parent)."""

    query: str
    premise: str
    accepted: bool
    author: str = ""


@dataclass(frozen=True)
class Judgements:
    """Accepted and rejected premises of queries, with folded texts.

    Attributes:
        accepted: Query -> the premises that explain it.
        rejected: Query -> premises that do not; of no meaning where `closed`.
        closed: Whether every other premise does not explain a known query, as in gold trees; what authors
            neither accepted nor rejected is unknown.
        contradictions: Pairs that were judged both ways without a decision, and are left out.
        roots: Queries that are hypotheses.
        weights: Query -> certainty of accepted premises, above 0 and at most 1; 1 for all others.
    """

    accepted: Mapping[str, Mapping[str, None]]
    rejected: Mapping[str, Mapping[str, None]] = field(default_factory=dict)
    closed: bool = False
    contradictions: tuple[tuple[str, str], ...] = ()
    roots: tuple[str, ...] = ()
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def of_trees(cls, trees: Iterable[ExplanationTree]) -> Judgements:
        """Let gold trees judge (the oracle); equal parents of several trees have all their children."""
        trees = list(trees)
        roots = dict.fromkeys(fold(tree.hypothesis) for tree in trees if tree.steps)
        return cls(accepted=gold_children(trees), closed=True, roots=tuple(roots))

    @classmethod
    def of_pairs(
        cls, pairs: Iterable[JudgedPair], *, roots: Iterable[str] = (), merging: Merging = "agree"
    ) -> Judgements:
        """Let authors judge; a pair that was judged both ways is neither, or what `merging` makes of it.

        >>> said = [JudgedPair("q", "a", True), JudgedPair("q", "b", False)]
        >>> judgements = Judgements.of_pairs(said)
        >>> [judgements.explains("q", p) for p in ("a", "b", "never looked at")]
        [True, False, None]
        """
        ballots: dict[tuple[str, str], dict[tuple[str, bool], None]] = {}
        for pair in pairs:
            cast = ballots.setdefault((fold(pair.query), fold(pair.premise)), {})
            cast[pair.author, pair.accepted] = None
        accepted: dict[str, dict[str, None]] = {}
        rejected: dict[str, dict[str, None]] = {}
        weights: dict[str, dict[str, float]] = {}
        both: list[tuple[str, str]] = []
        for (query, premise), certainty in merge(ballots, merging).items():
            if not certainty:
                both.append((query, premise))
                continue
            (accepted if certainty > 0 else rejected).setdefault(query, {})[premise] = None
            if 0 < certainty < 1:
                weights.setdefault(query, {})[premise] = certainty
        named = tuple(dict.fromkeys(map(fold, roots)))
        return cls(accepted, rejected, contradictions=tuple(both), roots=named, weights=weights)

    @property
    def queries(self) -> tuple[str, ...]:
        """Every query of which something is known, in order of first sight."""
        return tuple({**self.accepted, **self.rejected})

    def explains(self, query: str, premise: str) -> bool | None:
        """Return whether a premise explains a query, None if it is not judged. Texts need not be folded."""
        query, premise = fold(query), fold(premise)
        if premise in self.accepted.get(query, {}):
            return True
        if premise in self.rejected.get(query, {}) or (self.closed and query in self.accepted):
            return False
        return None

    def pairs(self) -> Iterator[JudgedPair]:
        """Yield every pair that was judged by name, accepted ones first."""
        for accepted, side in ((True, self.accepted), (False, self.rejected)):
            for query, premises in side.items():
                for premise in premises:
                    yield JudgedPair(query, premise, accepted)
