"""What chains are built with, made once for all sessions: releases, scorers, facts made ready, steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.errors import EntailError
from entail.ui.works import Work, Works

if TYPE_CHECKING:
    from entail.arcf.listing import ListedScorer
    from entail.arcf.neighbourhoods import Neighbourhoods
    from entail.arcf.scorer import Scorer
    from entail.arcf.stepwise import Step, StepScorer
    from entail.data.worldtree import Question
    from entail.data.worldtree_tables import FactTables
    from entail.evaluation.chains import Similarities
    from entail.progress import ProgressCallback

TFIDF = "tfidf"
"""In place of a scorer: shared words."""

SCORING = threading.Lock()
"""Held by whatever scores: two at once would only take turns, and twice the memory."""


@st.cache_resource(show_spinner=False)
def releases() -> Works:
    """Return the process's releases of WorldTree."""
    return Works(3, failure="the release could not be read")


@st.cache_resource(show_spinner=False)
def scorers() -> Works:
    """Return the process's scorers."""
    return Works(3, failure="the scorer could not be loaded")


@st.cache_resource(show_spinner=False)
def grounds() -> Works:
    """Return what the process made ready of facts: similarities, and what builds chains over them."""
    return Works(12, failure="the facts could not be made ready")


@st.cache_resource(show_spinner=False)
def _steps() -> Works:
    return Works(600, failure="the step could not be scored")


@st.cache_resource(show_spinner=False)
def rankings() -> Works:
    """Return the process's rankings of one question by several methods."""
    return Works(16, failure="the methods could not be compared")


def take_scorer(listed: ListedScorer, *, works: Works | None = None, wait: float = 2.5) -> Work[Scorer]:
    """Return a scorer, in the making where it is not in memory.

    Args:
        listed: Which one.
        works: What holds them, for a thread that runs no page.
        wait: Seconds that it is waited for.
    """

    def make(report: ProgressCallback) -> Scorer:
        from entail.arcf.scorer import load_scorer

        return load_scorer(listed.name, precision="auto")

    return (works or scorers()).take((listed.name, listed.stamp), make, wait=wait)


def held_scorers() -> Callable[[ListedScorer], Scorer]:
    """Return what brings a scorer into memory, once, and waits for it: for a thread that runs no page."""
    works = scorers()

    def load(listed: ListedScorer) -> Scorer:
        work = take_scorer(listed, works=works)
        work.done.wait()
        if work.value is None:
            raise work.error or EntailError(f"{listed.name} could not be loaded")
        return work.value

    return load


@dataclass(frozen=True)
class Builder:
    """What builds chains over some facts.

    Attributes:
        by: Name of the scorer, or `tfidf`.
        revision: Of its weights; empty for `tfidf`.
        scheme: `arcf`, `single-fact` or `tfidf`.
        around: What is visible.
        steps: What scores.
    """

    by: str
    revision: str
    scheme: str
    around: Neighbourhoods
    steps: StepScorer

    @property
    def place(self) -> tuple[str, str, str, int]:
        """What its steps depend on, but for the question."""
        return (self.by, self.revision, self.around.facts.digest, self.around.k)


def take_builder(
    facts: FactTables, scorer: Scorer | None, *, k: int, works: Works | None = None, wait: float = 2.5
) -> Work[Builder]:
    """Return what builds chains by a scorer, None for shared words; in the making where it is not ready.

    Args:
        facts: The facts.
        scorer: What scores.
        k: Neighbours of each.
        works: What `grounds` returned, for a thread that runs no page.
        wait: Seconds that either of its two parts is waited for.
    """
    from entail.evaluation.chains import TFIDF as WORDS

    made = works or grounds()
    metric = scorer.form.metric if scorer is not None else WORDS

    def ground(report: ProgressCallback) -> Similarities:
        from entail.evaluation.chains import fact_similarities

        return fact_similarities(facts, metric, progress=report)

    near = made.take((facts.digest, metric), ground, wait=wait)
    if near.value is None:
        return Work(progress=near.progress, error=near.error, done=near.done)
    similarities = near.value

    def make(report: ProgressCallback) -> Builder:
        from entail.arcf.neighbourhoods import Neighbourhoods
        from entail.arcf.stepwise import NearestSteps, ScoredSteps

        around = Neighbourhoods(facts, k=k, metric=metric, similarities=similarities)
        if scorer is None:
            return Builder(TFIDF, "", TFIDF, around, NearestSteps(around))
        return Builder(scorer.name, scorer.revision, scorer.form.scheme, around, ScoredSteps(scorer, facts))

    name = scorer.revision if scorer is not None else TFIDF
    return made.take((facts.digest, name, k), make, wait=wait)


def held_builder(facts: FactTables, scorer: Scorer, *, k: int, works: Works) -> Builder:
    """Return what builds chains by a scorer, and wait for it: for a thread that runs no page.

    Raises:
        EntailError: If the facts cannot be made ready.
    """
    while True:
        work = take_builder(facts, scorer, k=k, works=works, wait=0)
        work.done.wait()
        if work.error is not None:
            raise work.error
        if work.value is not None:
            return work.value


def take_step(builder: Builder, question: Question, chosen: tuple[int, ...], *, wait: float) -> Work[Step]:
    """Return what can follow some facts, in the making where it is not scored yet."""

    def make(report: ProgressCallback) -> Step:
        from entail.arcf.stepwise import step

        with SCORING:
            near = builder.steps.near(question, builder.around)
            return step(question, near, chosen, builder.steps, builder.around)

    place: Hashable = (*builder.place, question.stem, question.answer, chosen)
    return _steps().take(place, make, wait=wait)
