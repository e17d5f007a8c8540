"""Scores of premises after the prefix of a question, with their prior terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from entail.arcf.scoring.inputs import Inputs, Prefix
from entail.arcf.scoring.priors import Evidence, PremisePriors
from entail.arcf.scoring.scorer import Scorer
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.encoders.cross.pairs import Ids, Pair
from entail.errors import EvaluationError
from entail.index.protocol import Floats, Ints

if TYPE_CHECKING:
    from entail.arcf.chains.neighbourhoods import Neighbourhoods

Scores = TypeVar("Scores", bound=NDArray[Any])


@dataclass(frozen=True)
class Prompt:
    """A question as a scorer reads it.

    Attributes:
        question: The question.
        ids: Its token ids.
        inputs: Token ids of all premises.
        evidence: Prior terms of the premises; None for none.
        accepted: Sentences at the beginning of its explanation; they need not be premises.
    """

    question: Question
    ids: Ids
    inputs: Inputs
    evidence: Evidence | None = None
    accepted: Sequence[str] = ()

    def prefix(self, chain: Sequence[int]) -> Prefix:
        """Return the prefix that candidates are scored after."""
        return self.inputs.prefix(self.ids, chain, accepted=self.accepted)

    def pairs(self, prefix: Prefix, facts: Sequence[int]) -> list[Pair]:
        """Return the pairs of a prefix and some candidates."""
        return [(prefix.ids, self.inputs.candidates[fact]) for fact in facts]

    def total(self, scores: Scores, chain: Sequence[int], facts: Sequence[int]) -> Scores:
        """Return the scores of candidates with their prior terms added; every score is checked here.

        That of the bare prefix may stand before those of the candidates.

        Raises:
            EvaluationError: If a score is not finite.
        """
        if self.evidence is not None and len(facts):
            scores = scores.copy()
            scores[-len(facts) :] += self.evidence(chain, facts)
        if not np.isfinite(scores).all():
            count = int((~np.isfinite(scores)).sum())
            raise EvaluationError(
                f"{self.question.id}: {count} of {len(scores)} scores are no numbers (NaN or infinite); the "
                "weights are damaged, or the precision too low: load the scorer in fp32"
            )
        return scores


@dataclass(frozen=True)
class StepScores:
    """Scores of candidates after a prefix.

    Attributes:
        scores: Score of each candidate.
        stop_score: Score of the bare prefix; None for a scorer that was not trained to stop.
        dropped: Oldest premises of the prefix that did not fit; -1 where the question was truncated.
        cut: Candidates that were truncated.
    """

    scores: Floats
    stop_score: float | None = None
    dropped: int = 0
    cut: frozenset[int] = frozenset()


class PremiseScorer:
    """Trained scorer over the premises of tables, or of a corpus."""

    def __init__(self, scorer: Scorer, facts: FactTables) -> None:
        self.scorer, self.facts = scorer, facts

    @cached_property
    def inputs(self) -> Inputs:
        """Token ids of the premises."""
        pairs = self.scorer.pairs
        return Inputs(pairs.tokenize, pairs.frame, max_length=pairs.max_length, facts=self.facts.texts)

    @cached_property
    def priors(self) -> PremisePriors | None:
        """Priors of the premises; None where they are no term of the scores."""
        scorer = self.scorer
        if scorer.explanations is None and scorer.words is None:
            return None
        return PremisePriors(
            self.facts, explanations=scorer.explanations, words=scorer.words, weights=scorer.weights
        )

    def prompt(self, question: Question, accepted: Sequence[str] = ()) -> Prompt:
        """Return a question as the scorer reads it."""
        (ids,) = self.inputs.questions([(question.stem, question.answer)])
        evidence = self.priors.evidence(question.text, accepted) if self.priors is not None else None
        return Prompt(question, ids, self.inputs, evidence, accepted)

    def neighbours(self, question: Question, neighbourhoods: Neighbourhoods) -> Ints:
        """Return the premises visible from the question alone, nearest first."""
        evidence = self.priors.evidence(question.text) if self.priors is not None else None
        return neighbourhoods.of_text(question.text, evidence=evidence)

    def score(
        self,
        question: Question,
        chain: Sequence[int],
        candidates: Sequence[int],
        *,
        accepted: Sequence[str] = (),
    ) -> StepScores:
        """Score candidates after accepted sentences of the explanation and chosen premises.

        A scorer trained on single facts ignores both.

        Raises:
            EvaluationError: If a score is not finite.
        """
        form = self.scorer.form
        if form.scheme == "single-fact":
            chain, accepted = (), ()
        prompt = self.prompt(question, accepted)
        prefix = prompt.prefix(chain)
        pairs = prompt.pairs(prefix, candidates)
        stops = form.stop and form.scheme != "single-fact"
        read = self.scorer.pairs.score([(prefix.ids, ()), *pairs] if stops else pairs)
        scores = prompt.total(read, chain, candidates)
        stop_score, scores = (float(scores[0]), scores[1:]) if stops else (None, scores)
        return StepScores(scores, stop_score, prefix.dropped, self.inputs.cut.intersection(candidates))
