"""Rankings of all premises by a chain: the chosen, the scored by last score (S2), the rest (R3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial

import numpy as np

from entail.arcf.chains.chain import Chain, Search, SearchProblem, grow, grow_all
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.priors import Evidence, PremisePriors
from entail.arcf.scoring.scorer import Scorer
from entail.data.worldtree.questions import Question
from entail.encoders.cross.pairs import Ids
from entail.errors import SettingsError
from entail.index.protocol import Floats, Ints
from entail.progress import Meter, ProgressCallback


@dataclass(frozen=True)
class Ranked:
    """Ranking of the premises for one question.

    Attributes:
        question: The question.
        ranking: Positions of premises, best first.
        chain: The explanation; None where premises were scored one by one.
        dropped: As in `Prefix`, of the prefix that was truncated most.
    """

    question: Question
    ranking: Ints
    chain: Chain | None = None
    dropped: int = 0


class Ranker(ABC):
    """Ranker of all premises for questions, by a scorer."""

    def __init__(self, scorer: Scorer, neighbourhoods: Neighbourhoods) -> None:
        self.scorer, self.neighbourhoods = scorer, neighbourhoods

    @cached_property
    def inputs(self) -> Inputs:
        """Token ids of the premises."""
        return self.scorer.inputs(self.neighbourhoods.facts.texts)

    @cached_property
    def _priors(self) -> PremisePriors | None:
        return self.scorer.priors(self.neighbourhoods.facts)

    def evidence(self, question: Question) -> Evidence | None:
        """Return the prior terms of premises given a question; None for a scorer without any."""
        return self._priors.evidence(question.text) if self._priors is not None else None

    def rank(
        self, questions: Sequence[Question], *, progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        """Yield the rankings of questions, in order.

        Raises:
            EvaluationError: If a score is not finite.
        """
        meter = Meter(len(questions), "ranking facts", unit="questions", report=progress)
        ids = self.inputs.questions([(question.stem, question.answer) for question in questions])
        for ranked in self._ranked(questions, ids):
            yield ranked
            meter.add(1)

    @abstractmethod
    def _ranked(self, questions: Sequence[Question], ids: Sequence[Ids]) -> Iterator[Ranked]:
        """Yield the rankings of questions with the given token ids, in order."""


class ChainRanker(Ranker):
    """Ranker by chains.

    Args:
        scorer: Scorer of chains.
        neighbourhoods: Visible premises.
        search: Search for chains; a scorer that was not trained to stop grows them to the full length.
        together: Questions whose pairs share batches: 1 on a processor, more on a GPU.
        unchosen: Whether scored premises that were not chosen follow by their last score (S2).
        rest: Whether all others follow by similarity to the finished explanation (R3).

    Raises:
        SettingsError: If `together` is below 1.
    """

    def __init__(
        self,
        scorer: Scorer,
        neighbourhoods: Neighbourhoods,
        *,
        search: Search | None = None,
        together: int = 1,
        unchosen: bool = True,
        rest: bool = True,
    ) -> None:
        if together < 1:
            raise SettingsError(f"together: expected 1 or more questions, found {together}")
        super().__init__(scorer, neighbourhoods)
        search = search or Search()
        self.search = replace(search, stop=search.stop and scorer.form.stop)
        self.together, self.unchosen, self.rest = together, unchosen, rest

    def _ranked(self, questions: Sequence[Question], ids: Sequence[Ids]) -> Iterator[Ranked]:
        growths = [grow(self._problem(*pair), self.search) for pair in zip(questions, ids, strict=True)]
        chains = grow_all(growths, self.scorer.pairs, together=self.together)
        for question, chain in zip(questions, chains, strict=True):
            scored = chain.scored if self.unchosen else {}
            ranking = rank_by_chain(question, chain.facts, scored, self.neighbourhoods, rest=self.rest)
            yield Ranked(question, ranking, chain, chain.dropped)

    def _problem(self, question: Question, ids: Ids) -> SearchProblem:
        evidence = self.evidence(question)
        neighbours = self.neighbourhoods.of_text(question.text, evidence=evidence)
        return SearchProblem(
            question.id,
            self.inputs.candidates,
            partial(self.inputs.prefix, ids),
            partial(self.neighbourhoods.visible, neighbours),
            evidence,
        )


def rank_by_chain(
    question: Question,
    chosen: Sequence[int],
    scored: Mapping[int, float],
    neighbourhoods: Neighbourhoods,
    *,
    rest: bool = True,
) -> Ints:
    """Return a ranking: chosen premises, those scored (S2), the rest by similarity to both (R3)."""
    order = sorted(scored, key=lambda fact: (-scored[fact], fact))
    first = np.array([*chosen, *order], dtype=np.int64)
    if not rest:
        return first
    texts = neighbourhoods.facts.texts
    explanation = " ".join([question.text, *(texts[fact] for fact in chosen)])
    return complete_ranking(first, neighbourhoods.similarities([explanation])[0])


def complete_ranking(first: Ints, similarities: Floats) -> Ints:
    """Return a ranking followed by all missing premises, by similarity.

    >>> complete_ranking(np.array([2]), np.array([0.1, 0.5, 0.9], dtype=np.float32)).tolist()
    [2, 1, 0]
    """
    order = np.argsort(-similarities, kind="stable")
    return np.concatenate([first, order[~np.isin(order, first)]])


@dataclass(frozen=True, kw_only=True)
class Truncation:
    """Counts of texts that exceed a scorer's maximum length.

    Attributes:
        questions_cut: Questions without their beginning.
        explanations_cut: Explanations without their oldest premises at the end.
        facts_cut: Premises without their end.
    """

    questions_cut: int = 0
    explanations_cut: int = 0
    facts_cut: int = 0

    @classmethod
    def of(cls, ranked: Iterable[Ranked], *, facts_cut: int) -> Truncation:
        """Count the truncations of rankings."""
        dropped = [one.dropped for one in ranked]
        return cls(
            questions_cut=sum(count < 0 for count in dropped),
            explanations_cut=sum(count > 0 for count in dropped),
            facts_cut=facts_cut,
        )

    def to_json(self) -> dict[str, int]:
        """Return a JSON-serialisable dict."""
        return asdict(self)

    def messages(self) -> list[str]:
        """Return one sentence for each kind of truncation that occurred.

        >>> Truncation(explanations_cut=2).messages()
        ['2 explanations grew longer than is read: their oldest facts were dropped']
        """
        counts = {
            "explanations grew longer than is read: their oldest facts were dropped": self.explanations_cut,
            "questions are longer than is read: their beginning was dropped": self.questions_cut,
            "facts are longer than half of what is read: their ends were cut, and beside them every question "
            "and explanation has the other half": self.facts_cut,
        }
        return [f"{count:,} {words}" for words, count in counts.items() if count]
