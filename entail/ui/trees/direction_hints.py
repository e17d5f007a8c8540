"""Entailment between candidates and a node, computed in the background; filter and order by it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

import streamlit as st

from entail.errors import EncoderError
from entail.trees.review.suggestions import Candidate
from entail.ui.direction.encoder import gaussian_names, take_encoder
from entail.ui.shared.active import sync_with_active
from entail.ui.shared.resources import WARM_AFTER
from entail.ui.shared.tasks import Task, TaskGroup, failed, finish

if TYPE_CHECKING:
    from entail.gausscse.arrows import Arrows, Only, Order, StepVerdict
    from entail.gausscse.verdict import Verdict
    from entail.progress import ProgressCallback
    from entail.trees.log.tree import Tree

LOADING = TaskGroup("direction hints", failure="the Gaussian encoder could not be loaded")
"""Gaussian encoders loaded behind the Trees page."""

_VERDICTS = TaskGroup("verdicts", failure="the entailment could not be checked")

_Value = TypeVar("_Value")

ONLY: Mapping[Only, str] = {
    "all": "All candidates",
    "entails": "Entails it",
    "is entailed by": "Follows from it",
    "neither": "No entailment",
}
ORDERS: Mapping[Order, str] = {
    "rank": "Rank",
    "similarity": "Strongest entailment",
    "margin": "Clearest direction",
}
ONLY_KEY, ORDER_KEY, BY_KEY = "arrows_only", "arrows_order", "arrows_by"
"""Widget keys of the filter, the order and the encoder."""

POOL = 50
"""Candidates that are filtered and ordered by entailment."""

WAIT = 0.15
"""Seconds that a page waits for the entailment that its list is filtered by."""

SOON = 0.05
"""Seconds that a page waits for entailment that is only displayed; a later rerun draws it."""


@dataclass(frozen=True)
class HintFilter:
    """Filter and order of the candidates.

    Attributes:
        only: Entailment that is shown.
        order: Order of the list.
        by: Encoder, None for the active one.
    """

    only: Only = "all"
    order: Order = "rank"
    by: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the list is the retriever's own."""
        return (self.only, self.order) == ("all", "rank")


@dataclass(frozen=True)
class DirectionHints:
    """Gaussian encoder that judges entailment in one run of the page, with the author's filter.

    Attributes:
        name: Name of the encoder.
        revision: Revision of the encoder.
        filter: Filter and order of the list.
        names: Encoders that can be chosen, the active one first.
    """

    name: str
    revision: str | None
    filter: HintFilter
    names: tuple[str, ...] = ()

    def start_loading(self) -> None:
        """Start to load the encoder in the background; call it after the page is drawn."""
        if LOADING.peek(self._key) is None:
            LOADING.get_or_start(self._key, self._load, wait=0)

    def judge(self, sentence: str, premises: Sequence[str], *, wait: float = 0) -> Task[list[Verdict]]:
        """Return the task that judges entailment between each premise and a sentence.

        An empty task is returned, and nothing is started, while the encoder is loading.
        """
        key = ("arrows", sentence, *premises)
        return self._start(key, lambda arrows: arrows.between(premises, sentence), wait=wait)

    def judge_step(self, tree: Tree, node_id: str, *, wait: float = 0) -> Task[StepVerdict] | None:
        """Return the task that judges a node's premises, joined, against it; None if it has no premises."""
        node = tree.node(node_id)
        if not node.children:
            return None
        premises = [tree.nodes[child].text for child in node.children]
        key = ("step", node.text, *premises)
        return self._start(key, lambda arrows: arrows.step(premises, node.text), wait=wait)

    def _start(self, what: tuple[str, ...], make: Callable[[Arrows], _Value], *, wait: float) -> Task[_Value]:
        loading = LOADING.peek(self._key)
        if loading is None or not loading.done.is_set():
            return Task()
        if loading.value is None:
            return failed(loading.error or EncoderError(f"{self.name} could not be loaded"))
        arrows = cast("Arrows", loading.value)
        key = (arrows.encoder.revision, *what)
        previous = _VERDICTS.peek(key)
        if previous is not None and previous.error is not None:
            return failed(previous.error)
        return _VERDICTS.get_or_start(key, lambda report: make(arrows), wait=wait)

    def arrange(self, sentence: str, pool: Sequence[Candidate]) -> list[Candidate] | None:
        """Return the candidates filtered and ordered by entailment; None while it is computed.

        The list is unchanged if entailment cannot be judged.
        """
        from entail.gausscse.arrows import arranged

        task = self.judge(sentence, texts_of(pool), wait=WAIT)
        if task.error is not None:
            return list(pool)
        if task.value is None:
            return None
        return arranged(pool, task.value, only=self.filter.only, order=self.filter.order)

    def judge_shown(self, sentence: str, shown: Sequence[Candidate]) -> Mapping[str, Verdict]:
        """Return the verdicts on the candidates on the screen, by premise key; empty while computed."""
        verdicts = self.judge(sentence, texts_of(shown), wait=SOON).value or []
        keys = [candidate.premise.key for candidate in shown]
        return dict(zip(keys, verdicts, strict=bool(verdicts)))

    @property
    def _key(self) -> tuple[str, str, str | None]:
        return ("arrows", self.name, self.revision)

    def _load(self, report: ProgressCallback) -> Arrows:
        from entail.gausscse.arrows import Arrows

        time.sleep(WARM_AFTER)
        arrows = Arrows(finish(take_encoder(self.name, self.revision, wait=0)))
        arrows.between(["a text"], "another")  # the first text is the slowest
        return arrows


def texts_of(candidates: Sequence[Candidate]) -> list[str]:
    """Return the texts of candidates."""
    return [candidate.premise.text for candidate in candidates]


def current_hints() -> DirectionHints | None:
    """Return the entailment hints as this session's author set them; None without a Gaussian encoder."""
    names = gaussian_names()
    if not names:
        return None
    sync_with_active("direction", BY_KEY, names)
    by = st.session_state.get(BY_KEY)
    if by is not None and by not in names:  # the encoder was removed
        del st.session_state[BY_KEY]
        by = None
    name = by or next(iter(names))
    only, order = st.session_state.get(ONLY_KEY, "all"), st.session_state.get(ORDER_KEY, "rank")
    chosen = HintFilter(only if only in ONLY else "all", order if order in ORDERS else "rank", by)
    return DirectionHints(name, names[name], chosen, tuple(names))
