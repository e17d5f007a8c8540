"""Active sampling of training pairs from the results of a retriever (AE-Enc, Algorithms 1 and 2, ACS).

A query Q retrieves its K nearest premises. One that explains Q is a positive (a branch) and is queried in
turn. One that does not is a *hard negative*. The printed Algorithm 2 merges only the negatives of the
recursion; its positives are merged here too, or the lower branches would be lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.data.text import fold
from entail.errors import SamplingError
from entail.evaluation.retrieval.premises import require_same_corpus
from entail.index.protocol import PremiseIndex
from entail.progress import Meter, ProgressCallback

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
    k: int
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class Sample:
    """Pairs of a sampling pass in order of retrieval, P and N of Algorithm 1."""

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

    The judgements are the oracle of what explains what; `k` premises are retrieved per query. The first
    queries (`start`) are by default all judged ones. Algorithm 1 starts from hypotheses
    (`judgements.roots`), but then an intermediate conclusion that is not retrieved hides its subtree.

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
                    if explains is None or (explains and text == query):
                        dropped["unjudged" if explains is None else "own_text_explains"] += 1
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
    positives = [pair for pair in pairs if pair.positive]
    negatives = [pair for pair in pairs if not pair.positive]
    report = SampleReport(
        queries=len(visited),
        positives=len(positives),
        negatives=len(negatives),
        without_positive=len(visited) - len({pair.query for pair in positives}),
        without_negative=len(visited) - len({pair.query for pair in negatives}),
        depth=depth,
        dropped=dict(dropped),
        k=k,
        missing=tuple(dict.fromkeys(text for text in accepted if corpus.position(text) is None)),
    )
    return Sample(tuple(pairs), report)
