"""Re-ranking of the first candidates: they are read in the background, and the list is then re-ordered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import streamlit as st

from entail.registry.models import active_name
from entail.registry.roles import list_usable
from entail.runtime.tasks import Task, TaskGroup
from entail.trees.review.suggestions import Candidate, reorder
from entail.ui.shared.active import LazyModel
from entail.ui.shared.text import label
from entail.ui.trees.screen import AuthoringSession, draw_wait

if TYPE_CHECKING:
    from entail.encoders.cross.reranker import Reranker
    from entail.index.protocol import Floats

KEY = "reranks"
"""Widget key of the switch."""

SOON = 0.05
"""Seconds that a page waits before it draws the list as retrieved."""


@dataclass(frozen=True)
class ListReranker(LazyModel["Reranker"]):
    """Active re-ranker in one run of the page."""

    models: ClassVar[TaskGroup] = TaskGroup("re-rankers", failure="the re-ranker could not be loaded")
    results: ClassVar[TaskGroup] = TaskGroup("re-ranked lists", failure="the list could not be re-ranked")

    def load(self) -> Reranker:
        """Load the re-ranker."""
        from entail.runtime.models import load_reranker

        reranker = load_reranker(self.name, str(self.revision))
        reranker.score("a text", ["another"])
        return reranker

    @property
    def depth(self) -> int:
        """Number of candidates that are read; 0 while the re-ranker is loading."""
        return self.model.form.depth if self.model is not None else 0

    def read(self, query: str, pool: Sequence[Candidate], *, wait: float = 0) -> Task[Floats]:
        """Return the task that scores the first candidates of a query."""
        texts = [candidate.premise.text for candidate in pool[: self.depth]]
        return self.start((query, *texts), lambda reranker, _: reranker.score(query, texts), wait=wait)

    def arrange(self, query: str, pool: Sequence[Candidate]) -> tuple[Candidate, ...] | None:
        """Return the candidates re-ordered; None while they are read, or if they cannot be."""
        scores, model = self.read(query, pool, wait=SOON).value, self.model
        return reorder(pool, scores, weight=model.form.weight) if scores is not None and model else None


def current_reranker() -> ListReranker | None:
    """Return the active re-ranker if this session's author switched it on; None without one."""
    if not st.session_state.get(KEY):
        return None
    usable = list_usable("reranker")
    name = active_name("reranker", usable)
    return ListReranker(name, usable[name]) if name is not None else None


def draw_switch() -> None:
    """Draw the switch of the re-ranking; nothing if no re-ranker is installed."""
    if not list_usable("reranker"):
        return
    st.toggle(
        "Re-rank the first candidates",
        key=KEY,
        persist_state="session",
        help="Reads the first candidates together with the sentence and re-orders them within a second.",
    )


def draw_reranking(session: AuthoringSession) -> None:
    """Draw the state of the re-ranking, and redraw the page when the list is read."""
    if session.reading is None or session.offer is not None:
        return
    if (error := session.reading().error) is not None:
        st.caption(f":material/info: Not re-ranked: {label(str(error), longest=200)}")
    elif not any(candidate.retrieved for candidate in session.candidates):
        draw_wait(session.screen, session.reading, lambda _: "Re-ranking")
