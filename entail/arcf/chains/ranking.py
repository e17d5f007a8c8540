"""Rankings of all premises by a chain: the chosen, the scored by last score (S2), the rest (R3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from entail.arcf.chains.chain import Chain, Growth, Search, grow, grow_all
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import Scorer
from entail.data.worldtree.questions import Question
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


class Ranker(PremiseScorer, ABC):
    """Ranker of all premises for questions, by a scorer."""

    def __init__(self, scorer: Scorer, neighbourhoods: Neighbourhoods) -> None:
        super().__init__(scorer, neighbourhoods.facts)
        self.neighbourhoods = neighbourhoods

    def rank(
        self, questions: Sequence[Question], *, progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        """Yield the rankings of questions, in order.

        Raises:
            EvaluationError: If a score is not finite.
        """
        meter = Meter(len(questions), "ranking facts", unit="questions", report=progress)
        for ranked in self._ranked(questions):
            yield ranked
            meter.add(1)

    @abstractmethod
    def _ranked(self, questions: Sequence[Question]) -> Iterator[Ranked]:
        """Yield the rankings of questions, in order."""


class ChainRanker(Ranker):
    """Ranker by chains: the chosen premises, those scored by last score (S2), the rest by similarity (R3).

    Args:
        scorer: Scorer of chains.
        neighbourhoods: Visible premises.
        search: Search for chains; a scorer that was not trained to stop grows them to the full length.
        together: Questions whose pairs share batches: 1 on a processor, more on a GPU.

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
    ) -> None:
        if together < 1:
            raise SettingsError(f"together: expected 1 or more questions, found {together}")
        super().__init__(scorer, neighbourhoods)
        search = search or Search()
        self.search = replace(search, stop=search.stop and scorer.form.stop)
        self.together = together

    def _ranked(self, questions: Sequence[Question]) -> Iterator[Ranked]:
        chains = grow_all(
            [self._grow(question) for question in questions], self.scorer.pairs.score, together=self.together
        )
        for question, chain in zip(questions, chains, strict=True):
            ranking = rank_by_chain(question, chain.facts, chain.scored, self.neighbourhoods)
            yield Ranked(question, ranking, chain, chain.dropped)

    def _grow(self, question: Question) -> Growth:
        prompt, near = self.prompt(question), self.neighbourhoods
        visible = partial(near.visible, near.of_text(question.text, evidence=prompt.evidence))
        return grow(prompt, visible, self.search)


def rank_by_chain(
    question: Question,
    chain: Sequence[int],
    scored: Mapping[int, float],
    neighbourhoods: Neighbourhoods,
) -> Ints:
    """Return a ranking: chosen premises, those scored (S2), the rest by similarity to both (R3)."""
    order = sorted(scored, key=lambda fact: (-scored[fact], fact))
    first = np.array([*chain, *order], dtype=np.int64)
    texts = neighbourhoods.facts.texts
    explanation = " ".join([question.text, *(texts[fact] for fact in chain)])
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
        dropped = [ranking.dropped for ranking in ranked]
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
