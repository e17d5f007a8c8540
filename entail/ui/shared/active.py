"""Active direction and chain models: fields that follow them, and loading behind the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, cast

import streamlit as st

from entail.progress import ProgressCallback
from entail.registry.models import active_name, fallback_notice
from entail.runtime.models import WARM_AFTER
from entail.runtime.tasks import Task, TaskGroup, failed
from entail.training.method import Role
from entail.ui.shared.text import label

_Model = TypeVar("_Model")
_Value = TypeVar("_Value")


def sync_with_active(role: Role, key: str, names: Collection[str]) -> str | None:
    """Return the active model, and reset the widget if it still shows the previously active one.

    Call it before the widget is drawn. A previously active model that was picked by hand is reset, too.

    Args:
        role: Role of the model.
        key: Key of the widget.
        names: Names that can be picked.
    """
    usual = active_name(role, names)
    previous = st.session_state.get(f"{key}_in_use")
    if previous not in (None, usual) and st.session_state.get(key) == previous:
        st.session_state[key] = usual
    st.session_state[f"{key}_in_use"] = usual
    return usual


def pick_model(role: Role, key: str, names: Collection[str]) -> tuple[str, list[str]]:
    """Return the model of a widget, the active one by default, and all names, the active one first."""
    usual = sync_with_active(role, key, names)
    if st.session_state.get(key) not in names:  # it was removed
        st.session_state.pop(key, None)
    ordered = sorted(names, key=lambda name: name != usual)
    return st.session_state.get(key) or ordered[0], ordered


def draw_notice(role: Role) -> None:
    """Warn where another model than the promoted one is active."""
    if words := fallback_notice(role):
        st.warning(label(words), icon=":material/swap_horiz:")


@dataclass(frozen=True)
class LazyModel(Generic[_Model]):
    """Model that is loaded behind the page, and the tasks that need it.

    A load or a task that failed starts again only after it is dropped from its group.
    """

    models: ClassVar[TaskGroup]
    results: ClassVar[TaskGroup]

    name: str
    revision: str | None

    @property
    def key(self) -> tuple[str, str | None]:
        """Key of the model."""
        return (self.name, self.revision)

    def load(self) -> _Model:
        """Load the model and run it once, as the first text is the slowest."""
        raise NotImplementedError

    @property
    def model(self) -> _Model | None:
        """Model, None if it is not in memory."""
        loading = self.models.peek(self.key)
        return cast("_Model | None", loading.value) if loading is not None else None

    def start_loading(self) -> None:
        """Start to load the model in the background; call it after the page is drawn."""

        def load(report: ProgressCallback) -> _Model:
            time.sleep(WARM_AFTER)
            return self.load()

        self.models.get_or_start(self.key, load, wait=0, retry=False)

    def start(
        self, key: Hashable, make: Callable[[_Model, ProgressCallback], _Value], *, wait: float
    ) -> Task[_Value]:
        """Return a task that needs the model; an empty one, which nothing starts, while it is loading."""
        loading = self.models.peek(self.key)
        if loading is None or not loading.done.is_set():
            return Task()
        if loading.error is not None:
            return failed(loading.error)
        model = cast(_Model, loading.value)
        return self.results.get_or_start(
            (self.key, key), lambda report: make(model, report), wait=wait, retry=False
        )
