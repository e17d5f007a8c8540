"""Training pairs: for each query, premises that explain it and premises that do not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from entail.aeenc.sampling import Sample
from entail.data.judgements import JudgedPair, Judgements
from entail.data.reading import read_jsonl, require
from entail.data.records import Corpus, ExplanationTree
from entail.data.text import fold
from entail.data.writing import write_text
from entail.errors import TrainingError
from entail.index.protocol import Ints


@dataclass(frozen=True)
class TrainingPairs:
    """Positives and hard negatives of each query, as positions in one corpus; duplicates are gone.

    Attributes:
        corpus_hash: What the positions are of.
        queries: Folded texts, each with at least one positive.
        positives: One array of positions a query, ascending.
        negatives: The same; may be empty where negatives come from the corpus while training.
        dropped: Rule -> pairs that were left out: `missing` (the premise is not in the corpus),
            `own_text` (a query equal to its positive), `both` (positive and negative: it stays positive),
            `without_positive` (negatives of a query that has no positive).
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
        """Queries, positive and negative pairs, and the triplets that they make."""
        sizes = [(len(p), len(n)) for p, n in zip(self.positives, self.negatives, strict=True)]
        return {
            "queries": len(sizes),
            "positives": sum(p for p, _ in sizes),
            "negatives": sum(n for _, n in sizes),
            "triplets": sum(p * n for p, n in sizes),
        }

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that change with any pair: what a checkpoint is bound to."""
        digest = hashlib.sha256(self.corpus_hash.encode())
        for query, positives, negatives in zip(self.queries, self.positives, self.negatives, strict=True):
            digest.update(f"{query}\0{positives.tolist()}\0{negatives.tolist()}\n".encode())
        return digest.hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, for `from_json`."""
        return {
            "corpus_hash": self.corpus_hash,
            "queries": list(self.queries),
            "positives": [positions.tolist() for positions in self.positives],
            "negatives": [positions.tolist() for positions in self.negatives],
            "dropped": dict(self.dropped),
            "missing": list(self.missing),
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> TrainingPairs:
        """Take back what `to_json` returned."""
        return cls(
            corpus_hash=told["corpus_hash"],
            queries=tuple(told["queries"]),
            positives=tuple(np.array(positions, dtype=np.int64) for positions in told["positives"]),
            negatives=tuple(np.array(positions, dtype=np.int64) for positions in told["negatives"]),
            dropped=told["dropped"],
            missing=tuple(told["missing"]),
        )

    def joined(self, *others: TrainingPairs) -> TrainingPairs:
        """Return the pairs of all, each once: how the rounds of iterative AE-Enc add up.

        Raises:
            TrainingError: If one is of another corpus.
        """
        everything = (self, *others)
        if any(pairs.corpus_hash != self.corpus_hash for pairs in others):
            raise TrainingError("expected training pairs of one corpus, found several; sample them again")
        dropped = {rule: sum(p.dropped.get(rule, 0) for p in everything) for rule in _RULES}
        return _pairs(
            self.corpus_hash,
            ((q, int(p), s) for pairs in everything for q, p, s in pairs.flat()),
            dropped=dropped,
            missing=tuple(dict.fromkeys(text for pairs in everything for text in pairs.missing)),
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
    """Return a corpus and, after its premises, the judged sentences that it lacks, to learn from them too.

    Intermediate conclusions, and what authors write themselves, stand in no corpus of facts: a third of what
    explains something would be lost to training. Measure on the corpus that was given, not on this one.

    >>> from entail.data.judgements import JudgedPair
    >>> said = Judgements.of_pairs([JudgedPair("ice melts", "ice is cold", True)])
    >>> training_corpus(Corpus.of("facts", ["fire is hot"]), judgements=said).texts
    ('fire is hot', 'ice is cold')

    Args:
        corpus: The candidates.
        trees: Gold trees: their children and distractors are added.
        judgements: What a team judged: what was accepted or rejected is added.
    """
    trees = list(trees)
    judged = [child for tree in trees for _, child in tree.pairs]
    judged.extend(tree.text(sentence) for tree in trees for sentence in tree.distractors)
    judged.extend(pair.premise for pair in (judgements.pairs() if judgements else ()))
    new = [text for text in dict.fromkeys(judged) if corpus.position(text) is None]
    return Corpus.of(corpus.name, [*corpus.premises, *new]) if new else corpus


def gold_pairs(corpus: Corpus, trees: Iterable[ExplanationTree]) -> TrainingPairs:
    """Take each parent -> child pair with each distractor of its tree, as the paper's gold triplets do.

    Distractors are those of task 2; trees of task 1 have none. A distractor that is a child of the
    same parent in another stays a positive.

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
    """Take everything that was judged by name: what a team accepted and rejected.

    Raises:
        TrainingError: If nothing was accepted.
    """
    return _of_judged(
        corpus,
        judgements.pairs(),
        "expected accepted premises, found none; accept some candidates of a tree first",
    )


def sampled_pairs(corpus: Corpus, sample: Sample) -> TrainingPairs:
    """Take the pairs of an ACS pass.

    Raises:
        TrainingError: If the sample is of another corpus.
    """
    if sample.corpus_hash != corpus.hash:
        raise TrainingError(
            f"expected a sample of corpus {corpus.name!r} ({corpus.hash[:12]}), found one of "
            f"{sample.corpus_hash[:12]}; sample again"
        )
    return _pairs(corpus.hash, ((p.query, p.premise, p.positive) for p in sample.pairs))


def write_pairs(file: str | PathLike[str], corpus: Corpus, pairs: TrainingPairs) -> None:
    """Write pairs as JSONL, one query a line with the texts of its premises; gzipped by suffix.

    Raises:
        DataError: If the file cannot be written.
    """
    lines = (
        json.dumps(
            {
                "query": query,
                "positives": [corpus.premises[p].text for p in positives],
                "negatives": [corpus.premises[p].text for p in negatives],
            },
            ensure_ascii=False,
        )
        for query, positives, negatives in zip(pairs.queries, pairs.positives, pairs.negatives, strict=True)
    )
    write_text(file, "".join(f"{line}\n" for line in lines))


def read_pairs(file: str | PathLike[str], corpus: Corpus) -> TrainingPairs:
    """Read pairs that `write_pairs` wrote, or another program in its form.

    Raises:
        FormatError: Naming line and field.
        TrainingError: If nothing in it is a positive.
    """
    judged: list[JudgedPair] = []
    for line, row in read_jsonl(file):
        query = require(row, "query", str, source=str(file), line=line)
        for name, accepted in (("positives", True), ("negatives", False)):
            texts: list[Any] = require(row, name, list, source=str(file), line=line)
            judged.extend(JudgedPair(query, str(text), accepted) for text in texts)
    return _of_judged(corpus, judged, f"{file}: expected queries with positives, found none")


def _of_judged(corpus: Corpus, judged: Iterable[JudgedPair], nothing: str) -> TrainingPairs:
    missing: dict[str, None] = {}
    lost = 0
    known: list[tuple[str, int, bool]] = []
    for pair in judged:
        position = corpus.position(pair.premise)
        if position is None:
            lost += 1
            if pair.accepted:
                missing[fold(pair.premise)] = None
        else:
            known.append((fold(pair.query), position, pair.accepted))
    if not any(positive for _, _, positive in known):
        named = f"; {lost} judged premises are not in corpus {corpus.name!r}" if lost else ""
        raise TrainingError(f"{nothing}{named}")
    return _pairs(corpus.hash, known, dropped={"missing": lost}, missing=tuple(missing), corpus=corpus)


def _pairs(
    corpus_hash: str,
    flat: Iterable[tuple[str, int, bool]],
    *,
    dropped: Mapping[str, int] | None = None,
    missing: tuple[str, ...] = (),
    corpus: Corpus | None = None,
) -> TrainingPairs:
    """Gather by query, in order of first sight, and drop what cannot be learnt from."""
    counts = dict.fromkeys(_RULES, 0) | dict(dropped or {})
    positives: dict[str, set[int]] = {}
    negatives: dict[str, set[int]] = {}
    for query, position, positive in flat:
        if positive and corpus is not None and corpus.position(query) == position:
            counts["own_text"] += 1
            continue
        (positives if positive else negatives).setdefault(query, set()).add(position)
    for query, found in negatives.items():
        both = found & positives.get(query, set())
        counts["both"] += len(both)
        found -= both
        if query not in positives:
            counts["without_positive"] += len(found)
    return TrainingPairs(
        corpus_hash=corpus_hash,
        queries=tuple(positives),
        positives=tuple(_ascending(found) for found in positives.values()),
        negatives=tuple(_ascending(negatives.get(query, set())) for query in positives),
        dropped=counts,
        missing=missing,
    )


def _ascending(positions: set[int]) -> Ints:
    return np.array(sorted(positions), dtype=np.int64)
