"""From a chain to a ranking of all facts: the chosen, the scored by last score (S2), the rest (R3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from entail.arcf.chains.chain import Chain, Search, grow, grow_all
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.priors import Evidence, PremisePriors
from entail.arcf.scoring.scorer import Scorer, whole_scores
from entail.data.worldtree.questions import Question
from entail.encoders.cross.pairs import Ids
from entail.errors import SettingsError
from entail.evaluation.chains import tfidf_rankings
from entail.index.protocol import Floats, Ints
from entail.progress import Meter, ProgressCallback


@dataclass(frozen=True)
class Ranked:
    """One question's facts, ranked.

    Attributes:
        question: The question.
        ranking: Positions of facts, best first.
        chain: The explanation that was built; None where facts were scored alone.
        dropped: As in `Prefix`, of the prefix that was least read.
    """

    question: Question
    ranking: Ints
    chain: Chain | None = None
    dropped: int = 0


class Ranker(ABC):
    """Ranks all facts for questions by a scorer.

    Args:
        scorer: What scores.
        neighbourhoods: Its metric and all facts.
    """

    def __init__(self, scorer: Scorer, neighbourhoods: Neighbourhoods) -> None:
        self.scorer, self.neighbourhoods = scorer, neighbourhoods

    @cached_property
    def inputs(self) -> Inputs:
        """The facts' tokens, made once."""
        return self.scorer.inputs(self.neighbourhoods.facts.texts)

    @cached_property
    def _known(self) -> PremisePriors | None:
        return self.scorer.known_of(self.neighbourhoods.facts)

    def evidence(self, question: Question) -> Evidence | None:
        """Return what the scorer knows of facts behind a question without reading them."""
        return self._known.behind(question.text) if self._known is not None else None

    def rank(
        self, questions: Sequence[Question], *, progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        """Yield the questions' rankings, in order.

        Raises:
            EvaluationError: If a score is not a number.
        """
        meter = Meter(len(questions), "ranking facts", unit="questions", report=progress)
        ids = self.inputs.questions([(question.stem, question.answer) for question in questions])
        for ranked in self._ranked(questions, ids):
            yield ranked
            meter.add(1)

    @abstractmethod
    def _ranked(self, questions: Sequence[Question], ids: Sequence[Ids]) -> Iterator[Ranked]:
        """Yield the rankings of questions, whose tokens are given, in order."""


class ChainRanker(Ranker):
    """Ranks all facts by the chain that is built first.

    Args:
        scorer: What scores.
        neighbourhoods: What is visible, and all facts.
        search: How chains are grown; by a scorer that never learnt when to stop always to their full length.
        together: Questions whose pairs are scored in the same batches: 1 on a processor, more on a GPU.
        unchosen: Whether facts that were scored and not chosen are ranked by their last score (S2).
        rest: Whether all others follow by nearness to the finished explanation (R3).
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
        growths = [
            grow(
                one,
                self.neighbourhoods.of_text(question.text, evidence=(known := self.evidence(question))),
                self.inputs,
                self.neighbourhoods,
                self.search,
                name=question.id,
                evidence=known,
            )
            for one, question in zip(ids, questions, strict=True)
        ]
        chains = grow_all(growths, self.scorer.pairs, together=self.together)
        for question, chain in zip(questions, chains, strict=True):
            yield Ranked(question, self.ranking(question, chain), chain, chain.dropped)

    def ranking(self, question: Question, chain: Chain) -> Ints:
        """Return the ranking that a chain makes."""
        scored = chain.scored if self.unchosen else {}
        return ranking_of(question, chain.facts, scored, self.neighbourhoods, rest=self.rest)


def ranking_of(
    question: Question,
    chosen: Sequence[int],
    scored: Mapping[int, float],
    neighbourhoods: Neighbourhoods,
    *,
    rest: bool = True,
) -> Ints:
    """Return a ranking: chosen facts, those that were scored, all others by nearness to the explanation.

    Args:
        question: The question.
        chosen: Positions of the chosen facts, in order.
        scored: Other facts -> their last scores (S2).
        neighbourhoods: What nearness is, and all facts.
        rest: Whether the others follow at all (R3).
    """
    order = sorted(scored, key=lambda fact: (-scored[fact], fact))
    first = np.array([*chosen, *order], dtype=np.int64)
    if not rest:
        return first
    texts = neighbourhoods.facts.texts
    told = " ".join([question.text, *(texts[fact] for fact in chosen)])
    return completed(first, neighbourhoods.similarities([told])[0])


def completed(first: Ints, similarities: Floats) -> Ints:
    """Return a ranking with all facts that it lacks behind it, by similarity.

    >>> completed(np.array([2]), np.array([0.1, 0.5, 0.9], dtype=np.float32)).tolist()
    [2, 1, 0]
    """
    order = np.argsort(-similarities, kind="stable")
    there = np.zeros(len(similarities), dtype=bool)
    there[first] = True
    found: Ints = np.concatenate([first, order[~there[order]]])
    return found


class SingleFactRanker(Ranker):
    """Ranks facts each alone behind the question: the single-fact baseline, and *w SF inf* of Table 2b.

    Args:
        scorer: What scores.
        neighbourhoods: Its metric and all facts.
        first: Facts nearest to the question that are scored; the others follow by nearness. None scores all.
    """

    def __init__(self, scorer: Scorer, neighbourhoods: Neighbourhoods, *, first: int | None = None) -> None:
        if first is not None and first < 1:
            raise SettingsError(f"first: expected 1 or more facts, found {first}")
        super().__init__(scorer, neighbourhoods)
        self.first = first

    def _ranked(self, questions: Sequence[Question], ids: Sequence[Ids]) -> Iterator[Ranked]:
        nearest = tfidf_rankings(questions, self.neighbourhoods.similarities)
        for question, one, order in zip(questions, ids, nearest, strict=True):
            some = order[: self.first]
            prefix = self.inputs.prefix(one, ())
            told = self.scorer.pairs.score([(prefix.ids, self.inputs.candidates[int(fact)]) for fact in some])
            evidence = self.evidence(question)
            known = evidence((), some.tolist()) if evidence is not None else None
            scores = whole_scores(told, known, of=question.id)
            ranking = np.concatenate([some[np.argsort(-scores, kind="stable")], order[len(some) :]])
            yield Ranked(question, ranking, dropped=prefix.dropped)
