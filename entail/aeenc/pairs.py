"""Training pairs of AE-Enc: positives and hard negatives of each query."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree
from entail.data.text import fold
from entail.errors import TrainingError
from entail.index.protocol import Ints


@dataclass(frozen=True)
class TrainingPairs:
    """Positives and hard negatives of each query, as positions in one corpus.

    Attributes:
        corpus_hash: Hash of the corpus of the positions.
        queries: Folded texts, each with at least one positive.
        positives: One ascending array of positions per query.
        negatives: The same; may be empty where training finds negatives in the corpus.
        dropped: Rule -> number of pairs left out: `missing` (the premise is not in the corpus), `own_text` (a
            query equal to its positive), `both` (positive and negative: stays positive), `without_positive`.
        missing: Folded texts of the gold premises that the corpus lacks.
    """

    corpus_hash: str
    queries: tuple[str, ...]
    positives: tuple[Ints, ...]
    negatives: tuple[Ints, ...]
    dropped: Mapping[str, int]
    missing: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Number of queries, positive pairs, negative pairs, and triplets of these."""
        sizes = [(len(p), len(n)) for p, n in zip(self.positives, self.negatives, strict=True)]
        return {
            "queries": len(sizes),
            "positives": sum(p for p, _ in sizes),
            "negatives": sum(n for _, n in sizes),
            "triplets": sum(p * n for p, n in sizes),
        }

    @property
    def digest(self) -> str:
        """Identity of the pairs, 12 hexadecimal digits."""
        digest = hashlib.sha256(self.corpus_hash.encode())
        for query, positives, negatives in zip(self.queries, self.positives, self.negatives, strict=True):
            digest.update(f"{query}\0{positives.tolist()}\0{negatives.tolist()}\n".encode())
        return digest.hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, for `from_json`."""
        sides = {side: [row.tolist() for row in getattr(self, side)] for side in ("positives", "negatives")}
        return {**vars(self), **sides}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TrainingPairs:
        """Return the pairs that `to_json` wrote."""
        positives, negatives = (
            tuple(np.array(row, dtype=np.int64) for row in record[side])
            for side in ("positives", "negatives")
        )
        texts = {name: tuple(record[name]) for name in ("queries", "missing")}
        return cls(**{**record, **texts, "positives": positives, "negatives": negatives})

    def join(self, other: TrainingPairs) -> TrainingPairs:
        """Return the union with pairs of the same corpus, as the rounds of iterative AE-Enc accumulate."""
        return gather_pairs(
            self.corpus_hash,
            itertools.chain(self.flat(), other.flat()),
            dropped={rule: self.dropped.get(rule, 0) + other.dropped.get(rule, 0) for rule in _RULES},
            missing=tuple(dict.fromkeys((*self.missing, *other.missing))),
        )

    def flat(self) -> Iterator[tuple[str, int, bool]]:
        """Yield (query, position, whether it is a positive)."""
        for query, positives, negatives in zip(self.queries, self.positives, self.negatives, strict=True):
            yield from ((query, int(p), True) for p in positives)
            yield from ((query, int(p), False) for p in negatives)


_RULES = ("missing", "own_text", "both", "without_positive")


def training_corpus(
    corpus: Corpus, *, trees: Iterable[ExplanationTree] = (), judgements: Judgements | None = None
) -> Corpus:
    """Return a corpus extended by the judged sentences that it lacks, for training only.

    Intermediate conclusions and sentences of authors are in no corpus of facts: without them a third of the
    positives would be lost. Evaluate on the original corpus.

    >>> from entail.data.judgements import JudgedPair
    >>> said = Judgements.of_pairs([JudgedPair("ice melts", "ice is cold", True)])
    >>> training_corpus(Corpus.of("facts", ["fire is hot"]), judgements=said).texts
    ('fire is hot', 'ice is cold')
    """
    trees = list(trees)
    judged = [child for tree in trees for _, child in tree.pairs]
    judged.extend(tree.text(sentence) for tree in trees for sentence in tree.distractors)
    judged.extend(pair.premise for pair in (judgements.pairs() if judgements else ()))
    new = [text for text in dict.fromkeys(judged) if corpus.position(text) is None]
    return Corpus.of(corpus.name, [*corpus.premises, *new]) if new else corpus


def gold_pairs(corpus: Corpus, trees: Iterable[ExplanationTree]) -> TrainingPairs:
    """Return each parent -> child pair with the distractors of its tree: the paper's gold triplets.

    Trees of task 1 have no distractors. A distractor that is a child of the same parent elsewhere stays a
    positive.

    Raises:
        TrainingError: If no tree has a proof.
    """
    judged: list[JudgedPair] = []
    for tree in trees:
        distractors = [tree.text(sentence) for sentence in tree.distractors]
        parents = dict.fromkeys(parent for parent, _ in tree.pairs)
        judged.extend(JudgedPair(parent, child, True) for parent, child in tree.pairs)
        judged.extend(JudgedPair(parent, text, False) for parent in parents for text in distractors)
    return _of_judged(corpus, judged, "expected trees with proofs (task 1 or 2), found none")


def judged_pairs(corpus: Corpus, judgements: Judgements) -> TrainingPairs:
    """Return the premises that a team accepted and rejected.

    Raises:
        TrainingError: If nothing was accepted.
    """
    return _of_judged(
        corpus,
        judgements.pairs(),
        "expected accepted premises, found none; accept some candidates of a tree first",
    )


def _of_judged(corpus: Corpus, judged: Iterable[JudgedPair], message: str) -> TrainingPairs:
    rows = [(pair, corpus.position(pair.premise)) for pair in judged]
    missing = [pair for pair, position in rows if position is None]
    flat = [(fold(pair.query), position, pair.accepted) for pair, position in rows if position is not None]
    if not any(positive for _, _, positive in flat):
        lost = f"; {len(missing)} judged premises are not in corpus {corpus.name!r}" if missing else ""
        raise TrainingError(f"{message}{lost}")
    return gather_pairs(
        corpus.hash,
        flat,
        dropped={"missing": len(missing)},
        missing=tuple(dict.fromkeys(fold(pair.premise) for pair in missing if pair.accepted)),
        corpus=corpus,
    )


def gather_pairs(
    corpus_hash: str,
    flat: Iterable[tuple[str, int, bool]],
    *,
    dropped: Mapping[str, int] | None = None,
    missing: tuple[str, ...] = (),
    corpus: Corpus | None = None,
) -> TrainingPairs:
    """Gather (query, position, is positive) by query, in order of appearance.

    With a corpus, a query that is its own positive is left out.
    """
    counts = dict.fromkeys(_RULES, 0) | dict(dropped or {})
    positives: dict[str, set[int]] = {}
    negatives: dict[str, set[int]] = {}
    for query, position, positive in flat:
        if positive and corpus is not None and corpus.position(query) == position:
            counts["own_text"] += 1
            continue
        (positives if positive else negatives).setdefault(query, set()).add(position)
    for query, positions in negatives.items():
        both = positions & positives.get(query, set())
        counts["both"] += len(both)
        positions -= both
        if query not in positives:
            counts["without_positive"] += len(positions)
    return TrainingPairs(
        corpus_hash=corpus_hash,
        queries=tuple(positives),
        positives=tuple(sort_positions(positions) for positions in positives.values()),
        negatives=tuple(sort_positions(negatives.get(query, ())) for query in positives),
        dropped=counts,
        missing=missing,
    )


def sort_positions(positions: Iterable[int]) -> Ints:
    """Return positions as a sorted array."""
    return np.array(sorted(positions), dtype=np.int64)
