"""Scores of premises after the prefix of a question, with all terms of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.scorer import Scorer
from entail.arcf.scoring.terms import PremiseTerms, QuestionTerms
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.encoders.cross.pairs import Ids
from entail.errors import EvaluationError
from entail.index.protocol import Floats, Ints

_CACHED_QUESTIONS = 16


@dataclass(frozen=True)
class StepScores:
    """Scores of candidates after a prefix.

    `stop_score` is that of the bare prefix; None for a scorer that was not trained to stop. `dropped` of the
    prefix's oldest premises did not fit; -1 where the question was truncated.
    """

    scores: Floats
    stop_score: float | None = None
    dropped: int = 0


class PremiseScorer:
    """Trained scorer over the premises of tables, or of a corpus."""

    def __init__(self, scorer: Scorer, facts: FactTables) -> None:
        self.scorer, self.facts = scorer, facts
        self._prompt = lru_cache(_CACHED_QUESTIONS)(self._make_prompt)

    @cached_property
    def inputs(self) -> Inputs:
        """Token ids of the premises."""
        pairs = self.scorer.pairs
        return Inputs(pairs.tokenize, pairs.frame, max_length=pairs.max_length, facts=self.facts.texts)

    @cached_property
    def terms(self) -> PremiseTerms | None:
        """Further terms of the scores; None where there are none."""
        terms = self.scorer.terms
        return PremiseTerms(terms, self.facts, self.inputs) if terms.names else None

    def neighbours(self, question: Question, neighbourhoods: Neighbourhoods) -> Ints:
        """Return the premises visible from the question alone, nearest first."""
        terms = self._prompt(question.stem, question.answer, ())[1]
        return neighbourhoods.of_text(question.text, bonus=terms.neighbour_bonus if terms else None)

    def score(
        self,
        question: Question,
        chain: Sequence[int],
        candidates: Sequence[int],
        *,
        accepted: Sequence[str] = (),
    ) -> StepScores:
        """Score candidates after accepted sentences of the explanation and chosen premises.

        Raises:
            EvaluationError: If a score is not finite.
        """
        ids, terms = self._prompt(question.stem, question.answer, tuple(accepted))
        prefix = self.inputs.prefix(ids, chain, accepted=accepted)
        pairs = [(prefix.ids, self.inputs.candidates[fact]) for fact in candidates]
        stops = self.scorer.form.stop
        scores = self.scorer.pairs.score([(prefix.ids, ()), *pairs] if stops else pairs)
        if terms is not None and pairs:
            weights = np.array(self.scorer.weights, dtype=np.float32)
            scores[-len(pairs) :] += terms(prefix.ids, chain, candidates) @ weights
        if not np.isfinite(scores).all():
            count = int((~np.isfinite(scores)).sum())
            raise EvaluationError(
                f"{question.id}: {count} of {len(scores)} scores are not finite; the weights are damaged, or "
                "the precision is too low: load the scorer in fp32"
            )
        stop_score, scores = (float(scores[0]), scores[1:]) if stops else (None, scores)
        return StepScores(scores, stop_score, prefix.dropped)

    def _make_prompt(
        self, stem: str, answer: str, accepted: tuple[str, ...]
    ) -> tuple[Ids, QuestionTerms | None]:
        """Return token ids and terms of a question; every step of a chain reuses them."""
        (ids,) = self.inputs.questions([(stem, answer)])
        if self.terms is None:
            return ids, None
        (terms,) = self.terms.of_questions([Question("", stem, answer, {}).text], accepted)
        return ids, terms
