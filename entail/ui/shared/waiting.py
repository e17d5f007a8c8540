"""Progress of background tasks, polled by a fragment."""

from __future__ import annotations

from typing import Any, TypeVar

import streamlit as st

from entail.ui.shared.tasks import Task
from entail.ui.shared.text import label

_Value = TypeVar("_Value")


def await_value(task: Task[_Value], *, waiting: str, key: str | None = None) -> _Value | None:
    """Return the value of a task; draw its progress or its error while there is none."""
    if task.value is None:
        draw_progress(task, waiting=waiting, key=key)
    return task.value


def draw_progress(
    task: Task[Any], *, waiting: str = "Preparing the search …", key: str | None = None
) -> None:
    """Draw the progress of a task and rerun the page once it is done; or draw its error and a retry button.

    Args:
        task: The task.
        waiting: Text before the first report of progress.
        key: Key of the retry button, where several tasks of a page can fail at once.
    """
    if task.error is not None:
        st.error(label(str(task.error)))
        st.button("Try again", icon=":material/refresh:", key=key)
    else:
        _poll(task, waiting)


@st.fragment(run_every=0.4)
def _poll(task: Task[Any], waiting: str) -> None:
    if task.done.is_set():
        st.rerun()
    progress = task.progress
    if progress is None:
        st.progress(0.0, text=waiting)
    else:
        st.progress(progress.fraction, text=str(progress))
