"""ACS: active sampling of training pairs around what the present encoder retrieves (Algorithms 1 and 2).

For a query Q the K nearest premises are looked up. One that explains Q is a positive (a branch) and is
itself queried, and so on down; one that does not is a *hard negative*: similar enough to be retrieved, and
wrong. The printed Algorithm 2 merges only the negatives of the recursion; its positives are merged here too,
or the lower branches would be lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.data.text import fold
from entail.errors import SamplingError
from entail.evaluation.retrieval.premises import require_same_corpus
from entail.index.protocol import PremiseIndex
from entail.progress import Meter, ProgressCallback

PERCENTILES = (0, 5, 25, 50, 75, 95, 100)

_QUERIES_AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class SampledPair:
    """A query and a premise that was retrieved for it.

    Attributes:
        query: Folded text.
        premise: Position in the corpus.
        positive: Whether the premise explains the query; else it is a hard negative.
        score: Similarity by which it was retrieved.
        rank: Its place, 1 is the nearest.
        depth: 0 below the queries one started from, 1 below their branches, ...
    """

    query: str
    premise: int
    positive: bool
    score: float
    rank: int
    depth: int


@dataclass(frozen=True)
class SampleReport:
    """Figures of a sampling pass, to judge its quality by.

    Attributes:
        queries: Queries looked up.
        positives: Pairs whose premise explains the query.
        negatives: Hard negatives.
        without_positive: Queries for which nothing retrieved explains them.
        without_negative: Queries for which everything judged explains them.
        depth: Deepest query looked up, 0 for those one started from.
        dropped: Rule -> pairs dropped by it: `unjudged` (nobody said), `own_text_explains` (a query equal
            to its positive), `visited` (a branch already queried), `too_deep` (a branch not queried).
        positive_scores: `PERCENTILES` of the positives' similarities, empty without any.
        negative_scores: The same of the negatives.
        k: How many premises were looked up a query, cut to the corpus.
        missing: Folded texts of premises that explain a query and that the corpus lacks: no pass finds them.
    """

    queries: int
    positives: int
    negatives: int
    without_positive: int
    without_negative: int
    depth: int
    dropped: dict[str, int]
    positive_scores: dict[str, float]
    negative_scores: dict[str, float]
    k: int
    missing: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, for `from_json`."""
        return {**asdict(self), "missing": {"count": len(self.missing), "texts": list(self.missing)}}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> SampleReport:
        """Take back what `to_json` returned; checkpoints of before say nothing of missing premises."""
        missing = told.get("missing", {"texts": ()})["texts"]
        return cls(**{**told, "missing": tuple(missing)})


@dataclass(frozen=True)
class Sample:
    """The pairs of a sampling pass, P and N of Algorithm 1.

    Attributes:
        retriever: Name of what retrieved.
        revision: Its revision.
        corpus_hash: What the positions are of.
        pairs: In the order in which they were met.
        report: Counts and percentiles.
    """

    retriever: str
    revision: str
    corpus_hash: str
    pairs: tuple[SampledPair, ...]
    report: SampleReport = field(repr=False)


def sample(
    corpus: Corpus,
    judgements: Judgements,
    index: PremiseIndex,
    *,
    k: int = 20,
    start: Iterable[str] | None = None,
    max_depth: int = 16,
    progress: ProgressCallback | None = None,
) -> Sample:
    """Run ACS over all queries (AE-Enc, Algorithms 1 and 2), level by level.

    A text is looked up once, however many parents it has: its own branches do not depend on them.

    Args:
        corpus: The premises.
        judgements: Who says what explains what.
        index: Where premises are looked up, with the encoder as it is now.
        k: Premises looked up a query, K; cut to the size of the corpus.
        start: Queries to start from; default: everything of which something is known. Algorithm 1 starts from
            hypotheses (`judgements.roots`), but then an intermediate conclusion that is not retrieved
            hides its whole subtree.
        max_depth: Branches deeper than this are not queried.
        progress: Told how many queries are done.

    Raises:
        SamplingError: If there is nothing to start from, or k or `max_depth` cannot be.
        ManifestMismatchError: If the index was made from another corpus.
    """
    require_same_corpus(corpus, index)
    queries = judgements.queries if start is None else tuple(dict.fromkeys(map(fold, start)))
    if not queries:
        raise SamplingError(
            "expected queries to start from, found none; give trees with proofs, or accept and reject some "
            "candidates first"
        )
    if k < 1 or max_depth < 0:
        raise SamplingError(f"expected k of at least 1 and a depth of at least 0, found {k} and {max_depth}")
    k = min(k, len(corpus))
    known = frozenset(judgements.queries)
    texts = [premise.folded for premise in corpus.premises]
    meter = Meter(len(queries), "sampling", unit="queries", report=progress)
    visited = set(queries)
    dropped = dict.fromkeys(("unjudged", "own_text_explains", "visited", "too_deep"), 0)
    found: list[SampledPair] = []
    alone = {True: 0, False: 0}
    level, depth, looked_up = list(queries), 0, 0
    while level:
        branches: dict[str, None] = {}
        for at in range(0, len(level), _QUERIES_AT_ONCE):
            some = level[at : at + _QUERIES_AT_ONCE]
            hits = index.search(some, k=k)
            for query, positions, scores in zip(some, hits.positions, hits.scores, strict=True):
                seen = {True: 0, False: 0}
                for rank, (position, score) in enumerate(zip(positions, scores, strict=True), start=1):
                    text = texts[int(position)]
                    answer = judgements.explains(query, text)
                    if answer is None:
                        dropped["unjudged"] += 1
                    elif answer and text == query:
                        dropped["own_text_explains"] += 1
                    else:
                        seen[answer] += 1
                        found.append(SampledPair(query, int(position), answer, float(score), rank, depth))
                        if not answer:
                            continue
                        if text not in known:
                            continue  # a leaf, or nobody judged it: there is nothing to learn below
                        if text in visited:
                            dropped["visited"] += 1
                        elif depth == max_depth:
                            dropped["too_deep"] += 1
                        else:
                            branches[text] = None
                alone[True] += not seen[True]
                alone[False] += not seen[False]
            looked_up += len(some)
            meter.add(len(some) if depth == 0 else 0)
        visited.update(branches)
        level = list(branches)
        depth += bool(level)
    scores_of = {side: np.array([p.score for p in found if p.positive is side]) for side in (True, False)}
    report = SampleReport(
        queries=looked_up,
        positives=len(scores_of[True]),
        negatives=len(scores_of[False]),
        without_positive=alone[True],
        without_negative=alone[False],
        depth=depth,
        dropped=dropped,
        positive_scores=_percentiles(scores_of[True]),
        negative_scores=_percentiles(scores_of[False]),
        k=k,
        missing=tuple(
            dict.fromkeys(
                text
                for premises in judgements.accepted.values()
                for text in premises
                if corpus.position(text) is None
            )
        ),
    )
    return Sample(index.name, index.manifest.revision, corpus.hash, tuple(found), report)


def _percentiles(scores: np.ndarray) -> dict[str, float]:
    if not scores.size:
        return {}
    return {
        f"p{p}": round(float(v), 4)
        for p, v in zip(PERCENTILES, np.percentile(scores, PERCENTILES), strict=True)
    }
