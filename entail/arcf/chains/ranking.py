"""Rankings of all premises for questions: by chains, or by shared words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from entail.arcf.chains.chain import Chain, Search, build_chain
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import Scorer
from entail.data.worldtree.questions import Question
from entail.index.protocol import Ints
from entail.progress import Meter, ProgressCallback


@dataclass(frozen=True)
class Ranked:
    """Ranking of the premises for one question.

    Attributes:
        question: The question.
        ranking: Positions of premises, best first.
        chain: The explanation; None where premises were ranked by shared words.
    """

    question: Question
    ranking: Ints
    chain: Chain | None = None

    @property
    def dropped(self) -> int:
        """Oldest premises that did not fit at the last step; -1 where the question was truncated."""
        return self.chain.steps[-1].dropped if self.chain else 0


class ChainRanker(PremiseScorer):
    """Ranker by chains, see `rank_by_chain`.

    Args:
        scorer: Scorer of chains.
        neighbourhoods: Visible premises.
        search: Length of a chain; a scorer that was not trained to stop grows it to the full length.
    """

    def __init__(
        self, scorer: Scorer, neighbourhoods: Neighbourhoods, *, search: Search | None = None
    ) -> None:
        super().__init__(scorer, neighbourhoods.facts)
        self.neighbourhoods, self.search = neighbourhoods, search or Search()

    def rank(
        self, questions: Sequence[Question], *, progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        """Yield the rankings of questions, in order.

        Raises:
            EvaluationError: If a score is not finite.
        """
        meter = Meter(len(questions), "ranking facts", unit="questions", report=progress)
        for question in questions:
            chain = build_chain(question, self, self.neighbourhoods, self.search)
            yield Ranked(question, chain.ranking(question, self.neighbourhoods), chain)
            meter.add(1)
