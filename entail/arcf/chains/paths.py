"""Path-rerank (PR): chains of one or two facts, the first near the question, the second sharing its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import Ranked, Ranker, completed
from entail.arcf.scoring.inputs import Prefix, most_dropped
from entail.arcf.scoring.priors import Evidence
from entail.arcf.scoring.scorer import Scorer, whole_scores
from entail.data.worldtree.questions import Question
from entail.encoders.cross.pairs import Ids
from entail.errors import SettingsError
from entail.evaluation.chains import tfidf_rankings
from entail.index.lexical import stemmed_words
from entail.index.protocol import Ints
from entail.statistics.ranking import Values

TOP = 50
"""T at inference, the paper's."""


class PathRanker(Ranker):
    """Ranks facts by the best chain of at most two that each is in.

    A chain begins with one of the T facts nearest to the question; its second fact is any that shares a word
    (stemmed, no stop words) with the first. The score of (a) is s(a | q), that of (a, b) the mean of its
    steps, (s(a | q) + s(b | q, a)) / 2; a fact has the score of its best chain. Facts in no chain follow by
    nearness. The paper's scorer is trained on such chains and scores each in one; ours are trained on steps,
    so a chain is scored by its steps.

    Args:
        scorer: What scores.
        neighbourhoods: Its metric and all facts.
        top: T.
        linked: Second facts of a chain that are scored, those nearest to the question; None scores all.
    """

    def __init__(
        self,
        scorer: Scorer,
        neighbourhoods: Neighbourhoods,
        *,
        top: int = TOP,
        linked: int | None = None,
    ) -> None:
        if top < 1 or (linked is not None and linked < 1):
            raise SettingsError(f"expected top and linked of 1 or more facts, found {top}, {linked}")
        super().__init__(scorer, neighbourhoods)
        self.top, self.linked = top, linked

    @cached_property
    def _words(self) -> Any:  # noqa: ANN401 - a sparse matrix, whose library is imported late
        """Return the sparse incidence matrix of facts and words, shape (facts, words)."""
        from sklearn.feature_extraction.text import CountVectorizer

        counter: Any = CountVectorizer(analyzer=stemmed_words, binary=True, dtype=np.float32)
        texts = self.neighbourhoods.facts.texts
        return counter.fit_transform(texts) if any(map(stemmed_words, texts)) else None

    def sharing(self, facts: Ints) -> list[Ints]:
        """Return for each fact the others that share a word with it, in order of position."""
        if self._words is None:
            return [np.empty(0, dtype=np.int64) for _ in facts]
        shared = (self._words[facts] @ self._words.T).tocsr()
        shared.sort_indices()
        rows = (shared.indices[shared.indptr[i] : shared.indptr[i + 1]] for i in range(len(facts)))
        return [row[row != fact].astype(np.int64) for fact, row in zip(facts, rows, strict=True)]

    def _ranked(self, questions: Sequence[Question], ids: Sequence[Ids]) -> Iterator[Ranked]:
        for question, one, order in zip(
            questions, ids, tfidf_rankings(questions, self.neighbourhoods.similarities), strict=True
        ):
            best, dropped = self._best(one, order, self.evidence(question), name=question.id)
            scored = np.flatnonzero(np.isfinite(best))
            place = np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
            # Of equal scores the fact nearer to the question comes first.
            first = scored[np.lexsort((place[scored], -best[scored]))]
            yield Ranked(question, completed(first, -place.astype(np.float32)), dropped=dropped)

    def _best(
        self, question: Ids, order: Ints, evidence: Evidence | None, *, name: str
    ) -> tuple[Values, int]:
        """Return the score of each fact's best chain, (facts,), -inf where it is in none; and `dropped`."""
        starts = order[: self.top]
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        prefix = self.inputs.prefix(question, ())
        alone, dropped = self._score(prefix, (), starts, evidence, name), [prefix.dropped]
        best = np.full(len(order), -np.inf)
        best[starts] = alone
        for start, score, others in zip(starts, alone, self.sharing(starts), strict=True):
            seconds = others[np.argsort(place[others], kind="stable")][: self.linked]
            if not len(seconds):
                continue
            prefix = self.inputs.prefix(question, (int(start),))
            dropped.append(prefix.dropped)
            chains = (score + self._score(prefix, (int(start),), seconds, evidence, name)) / 2
            best[seconds] = np.maximum(best[seconds], chains)
            best[start] = max(best[start], chains.max())
        return best, most_dropped(dropped)

    def _score(
        self, prefix: Prefix, chosen: Sequence[int], facts: Ints, evidence: Evidence | None, name: str
    ) -> Values:
        told = self.scorer.pairs.score([(prefix.ids, self.inputs.candidates[int(fact)]) for fact in facts])
        known = evidence(chosen, facts.tolist()) if evidence is not None else None
        return whole_scores(told.astype(np.float64), known, of=name)
