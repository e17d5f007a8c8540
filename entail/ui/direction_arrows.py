"""Arrows at candidates, told behind the page: by which encoder, which are shown, and in which order."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

import streamlit as st

from entail.errors import EncoderError
from entail.trees.suggestions import Candidate
from entail.ui.direction_encoder import gaussian_names, loaded, take_encoder
from entail.ui.in_use import follow
from entail.ui.resources import WARM_AFTER
from entail.ui.works import Work, Works, failed

if TYPE_CHECKING:
    from entail.gausscse.arrows import Arrows, Only, Order, StepVerdict
    from entail.gausscse.verdict import Verdict
    from entail.progress import ProgressCallback
    from entail.trees.tree import Tree

_Told = TypeVar("_Told")

ONLY: Mapping[Only, str] = {
    "all": "All candidates",
    "entails": "Those that entail it",
    "is entailed by": "Those that follow from it",
    "neither": "Those that do neither",
}
ORDERS: Mapping[Order, str] = {
    "rank": "As they are ranked",
    "similarity": "What entails it most first",
    "margin": "By margin: the surest direction first",
}
ONLY_KEY, ORDER_KEY, BY_KEY = "arrows_only", "arrows_order", "arrows_by"
"""Keys of the fields, and so of the choices in the session."""

POOL = 50
"""Best candidates among which some are picked, or which are sorted, by their arrows."""

WAIT = 0.15
"""Seconds that a page waits for the arrows that its list is picked by."""

SOON = 0.05
"""Seconds that it waits for those that are only shown; later ones are drawn when they are there."""


@dataclass(frozen=True)
class Asked:
    """Which candidates are shown, and in which order.

    Attributes:
        only: By what they do to the node.
        order: What comes first.
        by: The encoder that tells, where one was picked.
    """

    only: Only = "all"
    order: Order = "rank"
    by: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the list is that of the retriever."""
        return (self.only, self.order) == ("all", "rank")


@dataclass(frozen=True)
class Pointer:
    """What tells arrows in one run of the page, and what the author asked of them.

    Attributes:
        name: The encoder's.
        revision: Its revision.
        asked: What the list is to be.
        works: What was loaded.
        told: What was told.
        names: The encoders that can be picked, the one that is usual first.
    """

    name: str
    revision: str | None
    asked: Asked
    works: Works = field(repr=False)
    told: Works = field(repr=False)
    names: tuple[str, ...] = ()

    def begin(self) -> None:
        """Begin, once a process, to load the encoder behind the page.

        Called when a page is drawn, not before: it would hold up the first drawing.
        """
        if self.works.look(self._place) is None:
            self.works.take(self._place, self._load, wait=0)

    def tell(self, sentence: str, premises: Sequence[str], *, wait: float = 0) -> Work[list[Verdict]]:
        """Return what each premise does to the sentence, in the making where it is not known.

        Until `begin` is through, nothing is begun here.
        """
        what = ("arrows", sentence, *premises)
        return self._take(what, lambda arrows: arrows.between(premises, sentence), wait=wait)

    def step(self, tree: Tree, node_id: str, *, wait: float = 0) -> Work[StepVerdict] | None:
        """Return what the premises of a node, joined, do to it; None where it has none."""
        node = tree.node(node_id)
        if not node.children:
            return None
        premises = [tree.nodes[child].text for child in node.children]
        what = ("step", node.text, *premises)
        return self._take(what, lambda arrows: arrows.step(premises, node.text), wait=wait)

    def _take(self, what: tuple[str, ...], make: Callable[[Arrows], _Told], *, wait: float) -> Work[_Told]:
        """Return what is told, in the making where it is not known; see `tell`."""
        loading = self.works.look(self._place)
        if loading is None or not loading.done.is_set():
            return Work()
        if loading.value is None:
            return failed(loading.error or EncoderError(f"{self.name} could not be loaded"))
        arrows = cast("Arrows", loading.value)
        place = (arrows.encoder.revision, *what)
        before = self.told.look(place)
        if before is not None and before.error is not None:
            return failed(before.error)

        return self.told.take(place, lambda report: make(arrows), wait=wait)

    def listed(self, sentence: str, pool: Sequence[Candidate]) -> list[Candidate] | None:
        """Return the candidates that were asked for, in the order that was; None while arrows are told.

        The list is as it came where nothing was asked for, or arrows cannot be told.
        """
        from entail.gausscse.arrows import arranged

        work = self.tell(sentence, texts_of(pool), wait=WAIT)
        if work.error is not None:
            return list(pool)
        if work.value is None:
            return None
        return arranged(pool, work.value, only=self.asked.only, order=self.asked.order)

    def at(self, sentence: str, shown: Sequence[Candidate]) -> Mapping[str, Verdict]:
        """Return what the candidates on the screen do to the sentence, by key; empty while it is told."""
        found = self.tell(sentence, texts_of(shown), wait=SOON).value or []
        return {
            candidate.premise.key: verdict for candidate, verdict in zip(shown, found, strict=bool(found))
        }

    @property
    def _place(self) -> tuple[str, str, str | None]:
        return ("arrows", self.name, self.revision)

    def _load(self, report: ProgressCallback) -> Arrows:
        from entail.gausscse.arrows import Arrows

        time.sleep(WARM_AFTER)
        work = take_encoder(self.name, self.revision, wait=0, works=self.works)
        work.done.wait()
        if work.value is None:
            raise work.error or EncoderError(f"{self.name} could not be loaded")
        arrows = Arrows(work.value)
        arrows.between(["a text"], "another")  # the first takes longer than those after it
        return arrows


def texts_of(candidates: Sequence[Candidate]) -> list[str]:
    """Return the premises' texts."""
    return [candidate.premise.text for candidate in candidates]


def pointer() -> Pointer | None:
    """Return what tells arrows, as this session's author asked for them; None where no encoder can."""
    names = gaussian_names()
    if not names:
        return None
    follow("direction", BY_KEY, names)
    by = st.session_state.get(BY_KEY)
    if by is not None and by not in names:  # it is gone, and no field can stand at it
        del st.session_state[BY_KEY]
        by = None
    name = by or next(iter(names))
    only, order = st.session_state.get(ONLY_KEY, "all"), st.session_state.get(ORDER_KEY, "rank")
    asked = Asked(only if only in ONLY else "all", order if order in ORDERS else "rank", by)
    return Pointer(name, names[name], asked, loaded(), _told(), tuple(names))


@st.cache_resource(show_spinner=False)
def _told() -> Works:
    return Works(256, failure="the directions could not be told")
