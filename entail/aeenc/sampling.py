"""Active sampling of training pairs from the results of a retriever (AE-Enc, Algorithms 1 and 2, ACS).

A query Q retrieves its K nearest premises. One that explains Q is a positive (a branch) and is queried in
turn. One that does not is a *hard negative*. The printed Algorithm 2 merges only the negatives of the
recursion; its positives are merged here too, or the lower branches would be lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
_RULES = ("unjudged", "own_text_explains", "visited", "too_deep")


@dataclass(frozen=True, slots=True)
class SampledPair:
    """Folded query, position of a premise retrieved for it, whether that explains it, and the similarity."""

    query: str
    premise: int
    positive: bool
    score: float


@dataclass(frozen=True)
class SampleReport:
    """Figures of a sampling pass: numbers of queries and pairs, and of queries without any of either kind.

    Attributes:
        depth: Depth of the deepest query, 0 for the first ones.
        dropped: Rule -> number of pairs: `unjudged` (neither accepted nor rejected), `own_text_explains` (a
            query equal to its positive), `visited` (a branch queried before), `too_deep` (not queried).
        positive_scores: `PERCENTILES` of the positives' similarities, empty without any.
        negative_scores: `PERCENTILES` of the negatives' similarities.
        k: Premises retrieved per query, at most the corpus.
        missing: Folded texts of accepted premises that the corpus lacks.
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
        """Return a JSON-serialisable dict, for `from_json`."""
        return {**asdict(self), "missing": {"count": len(self.missing), "texts": list(self.missing)}}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SampleReport:
        """Return the report that `to_json` wrote; early checkpoints have no missing premises."""
        missing = record.get("missing", {"texts": ()})["texts"]
        return cls(**{**record, "missing": tuple(missing)})


@dataclass(frozen=True)
class Sample:
    """Pairs of a sampling pass in order of retrieval, P and N of Algorithm 1, with retriever and corpus."""

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

    Each text is queried once, since its branches do not depend on its parents.

    Args:
        corpus: Premises.
        judgements: Oracle of what explains what.
        index: Index of the current encoder.
        k: Premises retrieved per query, K.
        start: First queries; default: every judged one. Algorithm 1 starts from hypotheses
            (`judgements.roots`), but then an intermediate conclusion that is not retrieved hides its subtree.
        max_depth: Maximum depth of a query.
        progress: Callback for progress.

    Raises:
        SamplingError: If there is no query, or `k` or `max_depth` is out of range.
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
    judged = frozenset(judgements.queries)
    texts = [premise.folded for premise in corpus.premises]
    meter = Meter(len(queries), "sampling", unit="queries", report=progress)
    visited = set(queries)
    dropped = Counter(dict.fromkeys(_RULES, 0))
    pairs: list[SampledPair] = []
    level, depth = list(queries), 0
    while level:
        branches: dict[str, None] = {}
        for at in range(0, len(level), _QUERIES_AT_ONCE):
            batch = level[at : at + _QUERIES_AT_ONCE]
            hits = index.search(batch, k=k)
            for query, positions, scores in zip(batch, hits.positions, hits.scores, strict=True):
                for position, score in zip(positions.tolist(), scores.tolist(), strict=True):
                    text = texts[position]
                    explains = judgements.explains(query, text)
                    if explains is None:
                        dropped["unjudged"] += 1
                        continue
                    if explains and text == query:
                        dropped["own_text_explains"] += 1
                        continue
                    pairs.append(SampledPair(query, position, explains, score))
                    if not explains or text not in judged:  # nothing is judged below a leaf
                        continue
                    if text in visited:
                        dropped["visited"] += 1
                    elif depth == max_depth:
                        dropped["too_deep"] += 1
                    else:
                        branches[text] = None
            meter.add(len(batch) if depth == 0 else 0)
        visited.update(branches)
        level = list(branches)
        depth += bool(level)
    accepted = (text for premises in judgements.accepted.values() for text in premises)
    figures: dict[str, Any] = {
        "queries": len(visited),
        "depth": depth,
        "dropped": dict(dropped),
        "k": k,
        "missing": tuple(dict.fromkeys(text for text in accepted if corpus.position(text) is None)),
    }
    for side, positive in (("positive", True), ("negative", False)):
        of_side = [pair for pair in pairs if pair.positive is positive]
        figures[f"{side}s"] = len(of_side)
        figures[f"without_{side}"] = len(visited) - len({pair.query for pair in of_side})
        figures[f"{side}_scores"] = _percentiles([pair.score for pair in of_side])
    report = SampleReport(**figures)
    return Sample(index.name, index.manifest.revision, corpus.hash, tuple(pairs), report)


def _percentiles(scores: Sequence[float]) -> dict[str, float]:
    if not scores:
        return {}
    values = np.percentile(scores, PERCENTILES)
    return {f"p{p}": round(float(v), 4) for p, v in zip(PERCENTILES, values, strict=True)}
