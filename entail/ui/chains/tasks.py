"""Background tasks of chains, shared by all sessions: scorers, builders, steps."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from entail.ui.shared.tasks import Task, TaskGroup

if TYPE_CHECKING:
    from entail.arcf.chains.neighbourhoods import Neighbourhoods
    from entail.arcf.chains.stepwise import Step, StepScorer
    from entail.arcf.scoring.scorer import ListedScorer, Scorer
    from entail.data.worldtree.questions import Question
    from entail.data.worldtree.tables import FactTables
    from entail.evaluation.chains import Similarities
    from entail.progress import ProgressCallback

TFIDF = "tfidf"
"""Name of the TF-IDF baseline in the list of scorers."""

SCORING = threading.Lock()
"""Lock of scoring: two runs at once would take twice the memory and save no time."""

SCORERS = TaskGroup("scorers", failure="the scorer could not be loaded")
"""Loaded scorers."""

GROUNDS = TaskGroup("facts", failure="the facts could not be prepared")
"""Similarities of premises, and the chain builders over them."""

_STEPS = TaskGroup("steps", failure="the step could not be scored")


@dataclass(frozen=True)
class Builder:
    """Builder of chains over some premises.

    Attributes:
        by: Name of the scorer, or `tfidf`.
        revision: Revision of its weights; empty for `tfidf`.
        around: Neighbourhoods: the visible premises.
        steps: Scorer of steps.
    """

    by: str
    revision: str
    around: Neighbourhoods
    steps: StepScorer


def take_scorer(listed: ListedScorer, *, wait: float = 2.5) -> Task[Scorer]:
    """Return the task that loads a scorer."""

    def make(report: ProgressCallback) -> Scorer:
        from entail.arcf.scoring.scorer import load_scorer

        return load_scorer(listed.name, precision="auto")

    return SCORERS.get_or_start((listed.name, listed.stamp), make, wait=wait)


def take_builder(facts: FactTables, scorer: Scorer | None, *, k: int, wait: float = 2.5) -> Task[Builder]:
    """Return the task that prepares a builder.

    Args:
        facts: All premises.
        scorer: The scorer, None for TF-IDF.
        k: Neighbours of each premise.
        wait: Seconds to wait for each of two parts.
    """
    from entail.evaluation.chains import TFIDF as WORDS

    metric = scorer.form.metric if scorer is not None else WORDS

    def ground(report: ProgressCallback) -> Similarities:
        from entail.evaluation.chains import fact_similarities

        return fact_similarities(facts, metric, progress=report)

    grounds = GROUNDS.get_or_start((facts.digest, metric), ground, wait=wait)
    if grounds.value is None:
        return Task(progress=grounds.progress, error=grounds.error, done=grounds.done)
    similarities = grounds.value

    def make(report: ProgressCallback) -> Builder:
        from entail.arcf.chains.neighbourhoods import Neighbourhoods
        from entail.arcf.chains.stepwise import NearestSteps
        from entail.arcf.scoring.premises import PremiseScorer

        around = Neighbourhoods(facts, k=k, metric=metric, similarities=similarities)
        if scorer is None:
            return Builder(TFIDF, "", around, NearestSteps(around))
        return Builder(scorer.name, scorer.revision, around, PremiseScorer(scorer, facts))

    name = scorer.revision if scorer is not None else TFIDF
    return GROUNDS.get_or_start((facts.digest, name, k), make, wait=wait)


def make_builder(facts: FactTables, scorer: Scorer, *, k: int) -> Builder:
    """Return the builder of a scorer and wait for it; for threads that run no page.

    Raises:
        EntailError: If the premises cannot be prepared.
    """
    while True:
        task = take_builder(facts, scorer, k=k, wait=0)
        task.done.wait()
        if task.error is not None:
            raise task.error
        if task.value is not None:
            return task.value


def take_step(builder: Builder, question: Question, chosen: tuple[int, ...], *, wait: float) -> Task[Step]:
    """Return the task that scores the next step after the chosen premises."""

    def make(report: ProgressCallback) -> Step:
        from entail.arcf.chains.stepwise import score_step

        with SCORING:
            neighbours = builder.steps.neighbours(question, builder.around)
            return score_step(question, neighbours, chosen, builder.steps, builder.around)

    premises = (builder.around.facts.digest, builder.around.k)
    key = (builder.by, builder.revision, premises, question.stem, question.answer, chosen)
    return _STEPS.get_or_start(key, make, wait=wait)
