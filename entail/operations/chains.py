"""Scorers of chains in memory, and the tasks that build chains by them."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.stepwise import NearestSteps, Step, StepScorer, score_step
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import ListedScorer, Scorer, load_scorer
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import FactTables
from entail.evaluation.chains import TFIDF, fact_similarities
from entail.operations.tasks import Task, TaskGroup, finish
from entail.progress import ProgressCallback

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
        scorer: The scorer, None for TF-IDF.
        around: Neighbourhoods: the visible premises.
        steps: Scorer of steps.
    """

    scorer: Scorer | None
    around: Neighbourhoods
    steps: StepScorer


def take_scorer(listed: ListedScorer, *, wait: float = 2.5) -> Task[Scorer]:
    """Return the task that loads a scorer."""
    return SCORERS.get_or_start(
        (listed.name, listed.stamp), lambda report: load_scorer(listed.name, precision="auto"), wait=wait
    )


def take_builder(facts: FactTables, scorer: Scorer | None, *, k: int, wait: float = 2.5) -> Task[Builder]:
    """Return the task that prepares a builder, of TF-IDF without a scorer; k neighbours of each premise."""
    metric = scorer.form.metric if scorer is not None else TFIDF

    def make(report: ProgressCallback) -> Builder:
        similarities = GROUNDS.get_or_start(
            (facts.digest, metric), lambda _: fact_similarities(facts, metric, progress=report), wait=0
        )
        around = Neighbourhoods(facts, k=k, metric=metric, similarities=finish(similarities))
        return Builder(
            scorer, around, NearestSteps(around) if scorer is None else PremiseScorer(scorer, facts)
        )

    name = scorer.revision if scorer is not None else TFIDF
    return GROUNDS.get_or_start((facts.digest, name, k), make, wait=wait)


def take_step(builder: Builder, question: Question, chosen: tuple[int, ...], *, wait: float) -> Task[Step]:
    """Return the task that scores the next step after the chosen premises."""

    def make(report: ProgressCallback) -> Step:
        with SCORING:
            neighbours = builder.steps.neighbours(question, builder.around)
            return score_step(question, neighbours, chosen, builder.steps, builder.around)

    premises = (builder.around.facts.digest, builder.around.k)
    scorer = (builder.scorer.name, builder.scorer.revision) if builder.scorer is not None else TFIDF
    key = (scorer, premises, question.stem, question.answer, chosen)
    return _STEPS.get_or_start(key, make, wait=wait)
