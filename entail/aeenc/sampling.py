"""Active sampling of training pairs from the results of a retriever (AE-Enc, Algorithms 1 and 2, ACS).

A query retrieves its K nearest premises. One that explains it is a positive (a branch). One that does not is
a *hard negative*. Algorithm 2 queries each branch in turn. Here every judged sentence is a query from the
start, so that an intermediate conclusion that is not retrieved does not hide its subtree; the recursion then
adds nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.errors import SamplingError
from entail.evaluation.retrieval.premises import require_same_corpus
from entail.index.protocol import PremiseIndex
from entail.progress import Meter, ProgressCallback

_QUERIES_AT_ONCE = 128


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
        dropped: Rule -> number of pairs: `unjudged` (neither accepted nor rejected), `own_text_explains` (a
            query equal to its positive).
        k: Premises retrieved per query, at most the corpus.
        missing: Folded texts of accepted premises that the corpus lacks.
    """

    queries: int
    positives: int
    negatives: int
    without_positive: int
    without_negative: int
    dropped: Mapping[str, int]
    k: int
    missing: Sequence[str] = ()

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> SampleReport:
        """Return a report of a checkpoint; those of earlier versions have further fields."""
        return cls(**{part.name: record[part.name] for part in fields(cls) if part.name in record})


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
    progress: ProgressCallback | None = None,
) -> Sample:
    """Run ACS over all judged sentences: retrieve `k` premises of each, and ask the judgements about them.

    Raises:
        SamplingError: If there is no query, or `k` is out of range.
        ManifestMismatchError: If the index was made from another corpus.
    """
    require_same_corpus(corpus, index)
    queries = judgements.queries
    if not queries or k < 1:
        raise SamplingError(
            f"expected queries and a k of at least 1, found {len(queries)} and {k}; give trees with proofs, "
            "or accept and reject some candidates first"
        )
    k = min(k, len(corpus))
    texts = [premise.folded for premise in corpus.premises]
    meter = Meter(len(queries), "sampling", unit="queries", report=progress)
    dropped = Counter({"unjudged": 0, "own_text_explains": 0})
    pairs: list[SampledPair] = []
    for at in range(0, len(queries), _QUERIES_AT_ONCE):
        batch = queries[at : at + _QUERIES_AT_ONCE]
        hits = index.search(batch, k=k)
        for query, positions, scores in zip(
            batch, hits.positions.tolist(), hits.scores.tolist(), strict=True
        ):
            for position, score in zip(positions, scores, strict=True):
                explains = judgements.explains(query, texts[position])
                if explains is None or (explains and texts[position] == query):
                    dropped["unjudged" if explains is None else "own_text_explains"] += 1
                else:
                    pairs.append(SampledPair(query, position, explains, score))
        meter.add(len(batch))
    accepted = (text for premises in judgements.accepted.values() for text in premises)
    positives = [pair for pair in pairs if pair.positive]
    negatives = [pair for pair in pairs if not pair.positive]
    report = SampleReport(
        queries=len(queries),
        positives=len(positives),
        negatives=len(negatives),
        without_positive=len(queries) - len({pair.query for pair in positives}),
        without_negative=len(queries) - len({pair.query for pair in negatives}),
        dropped=dict(dropped),
        k=k,
        missing=tuple(dict.fromkeys(text for text in accepted if corpus.position(text) is None)),
    )
    return Sample(tuple(pairs), report)
