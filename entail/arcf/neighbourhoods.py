"""Neighbourhoods vis_k(q, f_1 .. f_N): the k premises nearest to the question and to each f_i, united.

The metric is one of `entail.evaluation.chains.fact_similarities`. A premise is not its own neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entail.data.worldtree.tables import FactTables
from entail.errors import SettingsError
from entail.evaluation.chains import TFIDF, Similarities, fact_similarities
from entail.index.protocol import Floats, Ints
from entail.index.ranking import top_k
from entail.progress import ProgressCallback

_BATCH = 256


class Neighbourhoods:
    """The k nearest premises of questions and of premises, at most all; those of premises are cached.

    `similarities` computes the similarity of premises; by default it is that of `metric`.

    Raises:
        SettingsError: If k is below 1.
        EntailError: If there is no such metric.
    """

    def __init__(
        self,
        facts: FactTables,
        *,
        k: int,
        metric: str = TFIDF,
        similarities: Similarities | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        if k < 1:
            raise SettingsError(f"k: expected 1 or more neighbours, found {k}")
        self.facts, self.metric = facts, metric
        self.k = min(k, len(facts))
        self.similarities = similarities or fact_similarities(facts, metric, progress=progress)
        self._nearest: dict[int, Ints] = {}

    def of_text(self, text: str, *, bonus: Floats | None = None) -> Ints:
        """Return the k premises nearest to a question, nearest first; a bonus (facts,) adds to similarity."""
        similarities = self.similarities([text])
        if bonus is not None:
            similarities = similarities + bonus
        nearest: Ints = top_k(similarities, self.k).positions[0]
        return nearest

    def of_fact(self, fact: int) -> Ints:
        """Return the k premises nearest to a premise, without itself, nearest first."""
        self.prepare([fact])
        return self._nearest[fact]

    def prepare(self, facts: Sequence[int]) -> None:
        """Compute the neighbours of many premises in batches."""
        missing = [fact for fact in dict.fromkeys(facts) if fact not in self._nearest]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            rows = self.similarities([self.facts.texts[fact] for fact in batch])
            for fact, row in zip(batch, rows, strict=True):
                nearest = top_k(row[None], min(self.k + 1, len(self.facts))).positions[0]
                self._nearest[fact] = nearest[nearest != fact][: self.k]

    def visible(self, neighbours: Ints, chain: Sequence[int]) -> list[int]:
        """Return vis_k: the question's neighbours, then those of each chosen premise.

        Chosen premises, and premises equal to them but for capitals, are left out: WorldTree has sentences in
        several tables, and no explanation says one twice.
        """
        near = np.concatenate([neighbours, *(self.of_fact(fact) for fact in chain)])
        excluded = set(chain).union(*(self.facts.equals.get(fact, ()) for fact in chain))
        return [fact for fact in dict.fromkeys(near.tolist()) if fact not in excluded]
