"""Background tasks on a page: their progress, polled by a fragment, and those that a click starts."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st

from entail.progress import ProgressCallback
from entail.runtime.tasks import Task, TaskGroup
from entail.ui.components.elements import draw_error
from entail.ui.shared.text import label

_Value = TypeVar("_Value")


PREPARING = "Preparing the search …"


def await_value(task: Task[_Value], *, waiting: str = PREPARING, key: str | None = None) -> _Value | None:
    """Return the value of a task; draw its progress or its error while there is none."""
    if task.value is None:
        draw_progress(task, waiting=waiting, key=key)
    return task.value


def draw_progress(
    task: Task[Any],
    *,
    waiting: str = PREPARING,
    key: str | None = None,
    until: Callable[[], object] = bool,
    can_cancel: bool = False,
) -> None:
    """Draw the progress of a task and rerun the page once it is done; or draw its error and a retry button.

    Args:
        task: The task.
        waiting: Text before the first report of progress.
        key: Key of the retry button, where several tasks of a page can fail at once.
        until: Returns something true if the page must run again before the task is done.
        can_cancel: Whether to draw a button that cancels the task, once that has begun.
    """
    if task.error is None:
        _poll(task, waiting, until, f"cancel-{key}" if can_cancel else None)
        return
    if task.cancelled.is_set():
        st.info("Cancelled.", icon=":material/cancel:")
    else:
        st.error(label(str(task.error)))
    st.button("Try again", icon=":material/refresh:", key=key, on_click=task.cancelled.clear)
    if until is not bool:
        _await(until)


def start_task(
    group: TaskGroup, key: Hashable, make: Callable[[ProgressCallback], object], *, slot: str | None = None
) -> None:
    """Start a task, again if it is done; a click handler.

    With `slot`, a key of the session, only this session sees the result, and only while `draw_result` gets
    the same key.
    """
    task = group.peek(key)
    if task is not None and task.done.is_set():
        group.drop(key)
    group.get_or_start(key, make, wait=0)
    if slot is not None:
        st.session_state[slot] = key


def draw_result(
    group: TaskGroup, key: Hashable, kind: type[_Value], *, waiting: str, slot: str | None = None
) -> _Value | None:
    """Draw the progress or the error of a task of `start_task`; return its value once it is made."""
    task = group.peek(key) if slot is None or st.session_state.get(slot) == key else None
    if task is None:
        return None
    if not task.done.is_set():
        draw_progress(task, waiting=waiting)
    elif task.error is not None:
        draw_error(task.error)
    return task.value if isinstance(task.value, kind) else None


@st.fragment(run_every=0.4)
def _poll(task: Task[Any], waiting: str, until: Callable[[], object], cancel_key: str | None) -> None:
    if task.done.is_set() or until():
        st.rerun()
    progress = task.progress
    if progress is None:
        st.progress(0.0, text=waiting)
        return
    st.progress(progress.fraction, text=str(progress))
    if cancel_key is not None:
        st.button("Cancel", icon=":material/close:", key=cancel_key, on_click=task.cancelled.set)


@st.fragment(run_every=0.4)
def _await(until: Callable[[], object]) -> None:
    if until():
        st.rerun()
