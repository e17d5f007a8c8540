"""Baselines of the paper: single-fact, path-rerank, and an ensemble of rankings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import Ranked, Ranker, complete_ranking
from entail.arcf.scoring.inputs import Prefix, worst_dropped
from entail.arcf.scoring.premises import Prompt
from entail.arcf.scoring.scorer import Scorer
from entail.data.worldtree.questions import Question
from entail.errors import SettingsError
from entail.evaluation.chains import tfidf_rankings
from entail.index.lexical import stemmed_words
from entail.index.protocol import Ints
from entail.progress import Meter, ProgressCallback
from entail.statistics.ranking import Values

TOP = 50
"""T of path-rerank at inference, the paper's."""

DAMPING = 60
"""Constant added to every rank in a fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


class _BaselineRanker(Ranker):
    """Ranker that scores premises after given prefixes, in order of TF-IDF similarity to the question."""

    def _ranked(self, questions: Sequence[Question]) -> Iterator[Ranked]:
        orders = tfidf_rankings(questions, self.neighbourhoods.similarities)
        for question, order in zip(questions, orders, strict=True):
            yield self._rank_one(self.prompt(question), order)

    @abstractmethod
    def _rank_one(self, prompt: Prompt, order: Ints) -> Ranked:
        """Return the ranking of a question whose premises are in order of similarity."""

    def _score(self, prompt: Prompt, prefix: Prefix, chain: Sequence[int], facts: Ints) -> Values:
        scores = self.scorer.pairs.score(prompt.pairs(prefix, facts.tolist()))
        return prompt.total(scores.astype(np.float64), chain, facts.tolist())


class SingleFactRanker(_BaselineRanker):
    """Ranker of each premise by itself after the question: *SF*, and *w SF inf* of Table 2b.

    Args:
        scorer: The scorer.
        neighbourhoods: Similarities of all premises.
        first: Premises nearest to the question that are scored; the others follow by similarity. None
            scores all.

    Raises:
        SettingsError: If `first` is below 1.
    """

    def __init__(self, scorer: Scorer, neighbourhoods: Neighbourhoods, *, first: int | None = None) -> None:
        if first is not None and first < 1:
            raise SettingsError(f"first: expected 1 or more facts, found {first}")
        super().__init__(scorer, neighbourhoods)
        self.first = first

    def _rank_one(self, prompt: Prompt, order: Ints) -> Ranked:
        first, prefix = order[: self.first], prompt.prefix(())
        scores = self._score(prompt, prefix, (), first)
        ranking = np.concatenate([first[np.argsort(-scores, kind="stable")], order[len(first) :]])
        return Ranked(prompt.question, ranking, dropped=prefix.dropped)


class PathRanker(_BaselineRanker):
    """Ranker of premises by the best chain of at most two that each is in: path-rerank, *PR*.

    A chain begins with one of the T premises nearest to the question. Its second premise is any that shares
    a word (stemmed, no stop words) with the first. The score of (a) is s(a | q), that of (a, b) the mean of
    its steps, (s(a | q) + s(b | q, a)) / 2. A premise has the score of its best chain; premises in no chain
    follow by similarity. The paper's scorer is trained on such chains; ours are trained on steps.

    Args:
        scorer: The scorer.
        neighbourhoods: Similarities of all premises.
        top: T.
        linked: Second premises of a chain that are scored, those nearest to the question; None scores all.

    Raises:
        SettingsError: If a number is below 1.
    """

    def __init__(
        self, scorer: Scorer, neighbourhoods: Neighbourhoods, *, top: int = TOP, linked: int | None = None
    ) -> None:
        if top < 1 or (linked is not None and linked < 1):
            raise SettingsError(f"expected top and linked of 1 or more facts, found {top}, {linked}")
        super().__init__(scorer, neighbourhoods)
        self.top, self.linked = top, linked

    @cached_property
    def _words(self) -> Any:  # noqa: ANN401 - a sparse matrix, whose library is imported late
        """Sparse incidence matrix of premises and words, shape (facts, words)."""
        from sklearn.feature_extraction.text import CountVectorizer

        counter: Any = CountVectorizer(analyzer=stemmed_words, binary=True, dtype=np.float32)
        texts = self.neighbourhoods.facts.texts
        return counter.fit_transform(texts) if any(map(stemmed_words, texts)) else None

    def sharing(self, facts: Ints) -> list[Ints]:
        """Return for each premise the others that share a word with it, in order of position."""
        if self._words is None:
            return [np.empty(0, dtype=np.int64) for _ in facts]
        shared = (self._words[facts] @ self._words.T).tocsr()
        shared.sort_indices()
        rows = (shared.indices[shared.indptr[i] : shared.indptr[i + 1]] for i in range(len(facts)))
        return [row[row != fact].astype(np.int64) for fact, row in zip(facts, rows, strict=True)]

    def _rank_one(self, prompt: Prompt, order: Ints) -> Ranked:
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        best, dropped = self._best_scores(prompt, order[: self.top], rank)
        scored = np.flatnonzero(np.isfinite(best))
        # Of equal scores the premise nearer to the question comes first.
        first = scored[np.lexsort((rank[scored], -best[scored]))]
        ranking = complete_ranking(first, -rank.astype(np.float32))
        return Ranked(prompt.question, ranking, dropped=dropped)

    def _best_scores(self, prompt: Prompt, starts: Ints, rank: Ints) -> tuple[Values, int]:
        """Return the score of each premise's best chain, (facts,), -inf without one; and `dropped`."""
        prefix = prompt.prefix(())
        start_scores = self._score(prompt, prefix, (), starts)
        dropped = [prefix.dropped]
        best = np.full(len(rank), -np.inf)
        best[starts] = start_scores
        for start, score, neighbours in zip(starts, start_scores, self.sharing(starts), strict=True):
            seconds = neighbours[np.argsort(rank[neighbours], kind="stable")][: self.linked]
            if not len(seconds):
                continue
            chain = (int(start),)
            prefix = prompt.prefix(chain)
            dropped.append(prefix.dropped)
            chains = (score + self._score(prompt, prefix, chain, seconds)) / 2
            best[seconds] = np.maximum(best[seconds], chains)
            best[start] = max(best[start], chains.max())
        return best, worst_dropped(dropped)


def rank_ensemble(
    parts: Sequence[Iterable[Ranked]], *, count: int, progress: ProgressCallback | None = None
) -> Iterator[Ranked]:
    """Yield the reciprocal rank fusion of several rankings of each of `count` questions, in order.

    The paper gives no rule for its ensemble of single-fact and path-rerank. This one needs no common scale of
    scores. All parts rank a question before the next.
    """
    meter = Meter(count, "ranking facts", unit="questions", report=progress)
    for several in zip(*parts, strict=True):
        dropped = worst_dropped(ranked.dropped for ranked in several)
        ranking = fuse_rankings([ranked.ranking for ranked in several])
        yield Ranked(several[0].question, ranking, dropped=dropped)
        meter.add(1)


def fuse_rankings(rankings: Sequence[Ints]) -> Ints:
    """Return one ranking of several by the sum of 1 / (60 + rank); the first ranking breaks ties.

    >>> fuse_rankings([np.array([0, 1, 2]), np.array([2, 1, 0]), np.array([2, 0, 1])]).tolist()
    [2, 0, 1]
    """
    sums = np.zeros(len(rankings[0]))
    for ranking in rankings:
        sums[ranking] += 1 / (DAMPING + np.arange(1, len(ranking) + 1))
    first = rankings[0]
    fused: Ints = first[np.argsort(-sums[first], kind="stable")]
    return fused
