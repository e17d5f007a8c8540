"""Active sampling of training pairs from the results of a retriever (AE-Enc, Algorithms 1 and 2, ACS).

A query retrieves its K nearest premises. One that explains it is a positive (a branch). One that does not is
a *hard negative*. Algorithm 2 queries each branch in turn. Here every judged sentence is a query from the
start, so that an intermediate conclusion that is not retrieved does not hide its subtree; the recursion then
adds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from entail.aeenc.pairs import TrainingPairs, gather_pairs
from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.errors import SamplingError
from entail.evaluation.retrieval.premises import require_same_corpus
from entail.index.protocol import PremiseIndex
from entail.progress import Meter, ProgressCallback

_QUERIES_AT_ONCE = 128


@dataclass(frozen=True)
class Sample:
    """Pairs of a sampling pass, P and N of Algorithm 1.

    `counts`: `queries` asked, `k` premises retrieved for each, `positives` and `negatives` among these,
    `unjudged` ones (neither accepted nor rejected), and `own_text`, queries that would explain themselves.
    """

    pairs: TrainingPairs
    counts: Mapping[str, int]


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
    flat: list[tuple[str, int, bool]] = []
    unjudged = own_text = 0
    for at in range(0, len(queries), _QUERIES_AT_ONCE):
        batch = queries[at : at + _QUERIES_AT_ONCE]
        for query, positions in zip(batch, index.search(batch, k=k).positions.tolist(), strict=True):
            for position in positions:
                explains = judgements.explains(query, texts[position])
                if explains is None:
                    unjudged += 1
                elif explains and texts[position] == query:
                    own_text += 1
                else:
                    flat.append((query, position, explains))
        meter.add(len(batch))
    positives = sum(explains for _, _, explains in flat)
    counts = {"queries": len(queries), "k": k, "positives": positives, "negatives": len(flat) - positives}
    return Sample(gather_pairs(corpus.hash, flat), {**counts, "unjudged": unjudged, "own_text": own_text})
