"""Scorers of chains in memory, and the tasks that build chains by them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from entail.arcf.chains.chain import NearestSteps, Step, StepScorer, score_step
from entail.arcf.chains.example import ExampleSteps, find_steps
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer, StepScores
from entail.arcf.scoring.scorer import ListedScorer, Scorer, ScorerForm, load_scorer
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.evaluation.chains import TFIDF, Similarities, fact_similarities
from entail.index.protocol import Ints
from entail.progress import ProgressCallback
from entail.runtime.tasks import Task, TaskGroup, finish

SCORING = threading.Lock()
"""Lock of scoring: two runs at once would take twice the memory and save no time."""

SCORERS = TaskGroup("scorers", failure="the scorer could not be loaded")
"""Loaded scorers."""

GROUNDS = TaskGroup("facts", failure="the facts could not be prepared")
"""Similarities of premises, and the chain builders over them."""

_STEPS = TaskGroup("steps", failure="the step could not be scored")


@dataclass(frozen=True)
class DeferredScorer:
    """Scorer that is loaded at its first use, as first steps, the `known` ones, ship."""

    listed: ListedScorer
    known: ExampleSteps

    @property
    def name(self) -> str:
        """Name of the scorer."""
        return self.listed.name

    @property
    def revision(self) -> str:
        """Its revision, which is that of the steps."""
        return self.known.revision

    @property
    def form(self) -> ScorerForm:
        """Settings of its training."""
        return self.listed.form


class DeferredSteps:
    """Steps by a `DeferredScorer`."""

    def __init__(self, scorer: DeferredScorer, facts: FactTables) -> None:
        self._scorer, self._facts = scorer, facts

    @cached_property
    def _steps(self) -> PremiseScorer:
        scorer = finish(take_scorer(self._scorer.name, self._scorer.revision, wait=0))
        return PremiseScorer(scorer, self._facts)

    def score(self, question: Question, chain: Sequence[int], candidates: Sequence[int]) -> StepScores:
        """Score candidates after the chosen premises."""
        return self._steps.score(question, chain, candidates)

    def neighbours(self, question: Question, neighbourhoods: Neighbourhoods) -> Ints:
        """Return the premises visible from the question alone, nearest first."""
        return self._steps.neighbours(question, neighbourhoods)


def defer_scorer(listed: ListedScorer, facts: FactTables, *, k: int) -> DeferredScorer | None:
    """Return a scorer without loading it if steps of it over these premises ship, else None."""
    steps = find_steps(listed.revision, facts.digest, k)
    return DeferredScorer(listed, steps) if steps is not None else None


@dataclass(frozen=True)
class Builder:
    """Builder of chains over some premises, by a scorer or TF-IDF (None); `around` makes premises visible."""

    scorer: Scorer | DeferredScorer | None
    around: Neighbourhoods
    steps: StepScorer


def take_scorer(name: str, revision: str | None, *, wait: float = 2.5) -> Task[Scorer]:
    """Return the task that loads a scorer, once a process and revision."""
    return SCORERS.get_or_start(
        (name, revision), lambda report: load_scorer(name, precision="auto"), wait=wait
    )


def is_loaded(listed: ListedScorer) -> bool:
    """Return whether a scorer is in memory."""
    task = SCORERS.peek((listed.name, listed.revision))
    return task is not None and task.value is not None


def take_builder(
    facts: FactTables, scorer: Scorer | DeferredScorer | None, *, k: int, wait: float = 2.5
) -> Task[Builder]:
    """Return the task that prepares a builder, of TF-IDF without a scorer; k neighbours of each premise."""
    metric = scorer.form.metric if scorer is not None else TFIDF
    is_deferred = isinstance(scorer, DeferredScorer)

    def make(report: ProgressCallback) -> Builder:
        def prepare() -> Similarities:
            task = GROUNDS.get_or_start(
                (facts.digest, metric), lambda _: fact_similarities(facts, metric, progress=report), wait=0
            )
            return finish(task)

        # Steps that ship need no similarities: their first use prepares them.
        similarities = (lambda texts: prepare()(texts)) if is_deferred else prepare()
        return make_builder(facts, scorer, k=k, similarities=similarities)

    name = scorer.revision if scorer is not None else TFIDF
    return GROUNDS.get_or_start((facts.digest, name, k, is_deferred), make, wait=wait)


def make_builder(
    facts: FactTables,
    scorer: Scorer | DeferredScorer | None,
    *,
    k: int,
    similarities: Similarities | None = None,
) -> Builder:
    """Return a builder that nothing keeps; similarities of the premises are computed where none are given."""
    metric = scorer.form.metric if scorer is not None else TFIDF
    around = Neighbourhoods(facts, k=k, metric=metric, similarities=similarities)
    steps: StepScorer
    if scorer is None:
        steps = NearestSteps(around)
    elif isinstance(scorer, DeferredScorer):
        steps = DeferredSteps(scorer, facts)
    else:
        steps = PremiseScorer(scorer, facts)
    return Builder(scorer, around, steps)


def take_step(builder: Builder, question: Question, chain: tuple[int, ...], *, wait: float) -> Task[Step]:
    """Return the task that scores the next step after the chosen premises."""

    def make(report: ProgressCallback) -> Step:
        if isinstance(builder.scorer, DeferredScorer):
            step = builder.scorer.known.find(question, chain)
            if step is not None:
                return step
        with SCORING:
            neighbours = builder.steps.neighbours(question, builder.around)
            return score_step(question, neighbours, chain, builder.steps, builder.around)

    premises = (builder.around.facts.digest, builder.around.k)
    scorer = (builder.scorer.name, builder.scorer.revision) if builder.scorer is not None else TFIDF
    key = (scorer, premises, question.stem, question.answer, chain)
    return _STEPS.get_or_start(key, make, wait=wait)
