"""Parent to child retrieval: ranks of the gold premises of a conclusion.

A query is a distinct parent text of the given trees (hypothesis or intermediate conclusion). Its relevant
premises are the distinct texts of its children, joined over all trees where it stands; the candidates are the
whole corpus. Figures follow two protocols:

``paper``
    every premise of the corpus is a candidate, the query's own text too (Table 1 of the AE-Enc paper), where
    it takes the first rank of almost every ranking.
``query_excluded``
    the premise whose folded text is the query's is left out of that query's ranking, as an author sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.errors import DataError, ManifestMismatchError, RetrievalError
from entail.index.protocol import Floats, Manifest, PremiseIndex
from entail.index.ranking import ALL_SCORED, LISTED, scores_of
from entail.progress import Meter, ProgressCallback
from entail.statistics.paired import ComparedFigure, compare_many
from entail.statistics.ranking import NOT_THERE, GoldRanks, Positions, ranks_of, summary

DEFAULT_KS = (10, 20, 30, 40, 50)
"""The cut-offs of the AE-Enc paper."""

_SCORES_AT_ONCE = 1 << 22
_QUERIES_AT_ONCE = 128


@dataclass(frozen=True)
class GoldQueries:
    """Queries and gold positions in a corpus: every parent of some trees with its children.

    Attributes:
        texts: Folded text of each query, distinct.
        own: Its own position in the corpus, or `NOT_THERE`, shape (queries,).
        children: Positions of its distinct children, or `NOT_THERE`, in the order of the proofs.
        missing: Folded texts of children that are not in the corpus.
    """

    texts: tuple[str, ...]
    own: Positions
    children: tuple[Positions, ...]
    missing: tuple[str, ...]

    @classmethod
    def of(cls, corpus: Corpus, trees: Iterable[ExplanationTree]) -> GoldQueries:
        """Look every parent and child up in a corpus; `DataError` if no tree has a proof."""
        gold = gold_children(trees)
        if not gold:
            raise DataError(
                "no tree has a proof, so there is no parent with children to look for; "
                "give trees of task 1 or 2 (task 3 comes without proofs)"
            )
        children = dict.fromkeys(child for texts in gold.values() for child in texts)
        return cls(
            texts=tuple(gold),
            own=_positions(corpus, gold),
            children=tuple(_positions(corpus, texts) for texts in gold.values()),
            missing=tuple(child for child in children if corpus.position(child) is None),
        )

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class PremiseEvaluation:
    """Ranks of every gold child by both protocols, at cut-offs `ks` to report.

    In a corpus of more than `ALL_SCORED` premises a child beyond the first `LISTED` counts as never found.

    Attributes:
        queries: Folded text of each query, in the order of the ranks.
        paper: Ranks with the query among the candidates.
        query_excluded: Ranks without it.
        missing: Folded texts of gold children that are not in the corpus: counted as never found.
    """

    retriever: str
    manifest: Manifest
    corpus_name: str
    queries: tuple[str, ...]
    paper: GoldRanks
    query_excluded: GoldRanks
    missing: tuple[str, ...]
    ks: tuple[int, ...] = DEFAULT_KS

    @property
    def ranks(self) -> dict[str, GoldRanks]:
        """Ranks by protocol."""
        return {"paper": self.paper, "query_excluded": self.query_excluded}

    @property
    def pairs(self) -> int:
        """Distinct (parent, child) pairs."""
        return self.paper.pairs

    def figures(self, queries: Container[str] | None = None) -> dict[str, dict[str, float]]:
        """Return the summary of each protocol, over all queries or some (`DataError` if there are none)."""
        indices = [i for i, query in enumerate(self.queries) if queries is None or query in queries]
        if not indices:
            raise DataError("expected some of the queries that were evaluated, found none of them")
        return {name: summary(ranks.take(indices), ks=self.ks) for name, ranks in self.ranks.items()}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            **self.figures(),
            "queries": len(self.queries),
            "pairs": self.pairs,
            "missing": {"count": len(self.missing), "texts": list(self.missing)},
            "retriever": self.retriever,
            "corpus": self.corpus_name,
            "manifest": asdict(self.manifest),
            **({"listed": LISTED} if self.manifest.count > ALL_SCORED else {}),
        }


def evaluate_premises(
    corpus: Corpus,
    trees: Iterable[ExplanationTree],
    index: PremiseIndex,
    *,
    ks: Sequence[int] = DEFAULT_KS,
    gold: GoldQueries | None = None,
    on_scores: Callable[[slice, Floats], None] | None = None,
    progress: ProgressCallback | None = None,
) -> PremiseEvaluation:
    """Rank every gold child of every parent among the whole corpus, by both protocols.

    Batches go to `on_scores` as `score_batches` yields them; `gold` saves looking the queries up again.

    Raises:
        ManifestMismatchError: If the index was made from another corpus.
        DataError: If no tree has a proof, so that there is nothing to find.
    """
    require_same_corpus(corpus, index)
    gold = GoldQueries.of(corpus, trees) if gold is None else gold
    paper: list[GoldRanks] = []
    query_excluded: list[GoldRanks] = []
    for batch, scores in score_batches(
        index,
        gold.texts,
        scores=partial(scores_of, index),
        description=f"ranking with {index.name}",
        progress=progress,
    ):
        if on_scores is not None:
            on_scores(batch, scores)
        rows = zip(scores, gold.children[batch], strict=True)
        children = [np.where(np.isneginf(row[own]), NOT_THERE, own) for row, own in rows]
        paper.append(ranks_of(scores, children))
        query_excluded.append(ranks_of(scores, children, excluded=gold.own[batch]))
    return PremiseEvaluation(
        retriever=index.name,
        manifest=index.manifest,
        corpus_name=corpus.name,
        queries=gold.texts,
        paper=GoldRanks.concatenate(paper),
        query_excluded=GoldRanks.concatenate(query_excluded),
        missing=gold.missing,
        ks=tuple(ks),
    )


def score_batches(
    index: PremiseIndex,
    queries: Sequence[str],
    *,
    description: str,
    scores: Callable[[Sequence[str]], Floats] | None = None,
    progress: ProgressCallback | None = None,
) -> Iterator[tuple[slice, Floats]]:
    """Yield a slice of the queries and their scores, shape (batch, premises); default: those of the index."""
    meter = Meter(len(queries), description, unit="queries", report=progress)
    size = max(1, index.manifest.count)
    step = min(_QUERIES_AT_ONCE, max(1, _SCORES_AT_ONCE // size))
    for start in range(0, len(queries), step):
        batch = slice(start, start + step)
        yield batch, (scores or index.scores)(queries[batch])
        meter.add(len(queries[batch]))


def compare_evaluations(
    first: PremiseEvaluation, second: PremiseEvaluation
) -> dict[str, dict[str, ComparedFigure]]:
    """Compare two retrievers over the same queries: protocol -> measure -> figures, intervals and p-value.

    The measures are those of `figures`, at the first evaluation's cut-offs; see `entail.statistics.paired`.

    Raises:
        RetrievalError: If the two are not of the same trees.
    """
    if first.queries != second.queries:
        raise RetrievalError(
            f"expected two evaluations of the same queries, found {len(first.queries)} with "
            f"{first.retriever} and {len(second.queries)} others with {second.retriever}; measure both on "
            "the same trees"
        )
    both = {protocol: (ranks, second.ranks[protocol]) for protocol, ranks in first.ranks.items()}
    return compare_many(both, ks=first.ks)


def require_same_corpus(corpus: Corpus, index: PremiseIndex) -> None:
    """Raise `ManifestMismatchError` unless an index holds this corpus, whose positions its answers are."""
    manifest = index.manifest
    if manifest.corpus_hash != corpus.hash:
        raise ManifestMismatchError(
            f"the index {index.name!r} holds {manifest.count} premises with corpus hash "
            f"{manifest.corpus_hash[:12]}, but corpus {corpus.name!r} has {len(corpus)} with "
            f"{corpus.hash[:12]}; make the index from this corpus"
        )


def _positions(corpus: Corpus, texts: Iterable[str]) -> Positions:
    positions = map(corpus.position, texts)
    return np.array([NOT_THERE if at is None else at for at in positions], dtype=np.int64)
