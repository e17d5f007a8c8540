"""One job on the Models page: state, actions, charts, settings and log."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import cycle, islice
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from entail.encoders.catalogue import model_folder
from entail.errors import EntailError
from entail.jobs.events import DEV, LOSS, Panel, panels
from entail.jobs.record import Job
from entail.operations.storage import in_words
from entail.registry.roles import ROLES, role_of
from entail.settings import is_demo
from entail.training.method import methods
from entail.ui.components.elements import draw_error, show_errors, toast_errors
from entail.ui.frame.author import lacks_name
from entail.ui.models.encoders import INSTALLED
from entail.ui.models.promotion import draw_comparison, read_comparison
from entail.ui.shared.chart_marks import SERIES
from entail.ui.shared.form import setting_label
from entail.ui.shared.job_list import (
    LIVE,
    NEW,
    describe_job,
    draw_badge,
    draw_unfinished,
    ensure_worker,
    format_duration,
    open_job,
    progress_of,
)
from entail.ui.shared.resources import jobs
from entail.ui.shared.text import label

if TYPE_CHECKING:
    import altair as alt

WARNINGS_SHOWN = 5
LOG_LINES = 200


def draw_job(job_id: str, author: str | None) -> None:
    """Draw one job, refreshed while it is queued or running."""
    job = _load(job_id)
    if job is not None:
        st.fragment(_draw, run_every=LIVE if job.open else None)(job.id, job.state, author)


def _load(job_id: str) -> Job | None:
    try:
        return jobs().job(job_id)
    except EntailError as error:  # it is gone, or its folder cannot be read
        draw_error(error)
        _draw_back()
        return None


def _draw(job_id: str, state: str, author: str | None) -> None:
    job = _load(job_id)
    if job is None:
        return
    if job.state != state:
        st.rerun()  # other actions apply, and an ended job needs no refresh
    with show_errors():  # another user may delete it meanwhile
        _draw_head(job, author)
        _draw_state(job)
        _draw_charts(job)
        _draw_settings(job)
        with st.expander("Log", icon=":material/notes:"):
            tail = jobs().log_tail(job.id, lines=LOG_LINES)
            st.code(tail or "The log is empty.", language=None, height=320, wrap_lines=True)


def _draw_head(job: Job, author: str | None) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="job-head"
    ):
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.markdown(f"#### {label(job.name)}", width="content")
            draw_badge(job)
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            if not is_demo():
                _draw_actions(job, author)
            _draw_back()
    st.caption(describe_job(job) + (f" · attempt {job.status.attempt}" if job.status.attempt > 1 else ""))
    if not is_demo():
        lacks_name("job")


def _draw_actions(job: Job, author: str | None) -> None:
    if job.open and st.button(
        "Cancel",
        icon=":material/stop:",
        disabled=author is None or job.state == "cancelling",
        key="cancel_job",
    ):
        _act(lambda: jobs().cancel(job.id, by=author or ""))
    diverged = job.status.ending == "diverged"  # it would diverge again if resumed
    if job.resumable and st.button(
        "Resume",
        icon=":material/play_arrow:",
        type="secondary" if diverged else "primary",
        key="resume_job",
        disabled=author is None,
        help="Queues it again. It continues from its last checkpoint.",
    ):
        _act(lambda: jobs().resume(job.id))
    if job.spec.method in methods() and st.button(
        "Duplicate settings",
        icon=":material/content_copy:",
        type="primary" if diverged else "secondary",
        key="like_job",
        help="Opens a new training with the data and settings of this one.",
    ):
        open_job(NEW, like=job.id)
        st.rerun()
    if not job.open:
        with st.popover("Delete", icon=":material/delete:", key="delete_job"):
            keeps = "The encoder stays." if job.state == "done" else "It cannot be resumed afterwards."
            st.markdown(f"Deletes its log, events and checkpoints ({in_words(jobs().disk(job.id))}). {keeps}")
            if st.button("Delete job", type="primary", key="delete_job_now", disabled=author is None):
                _act(lambda: jobs().delete(job.id), leave=True)


def _draw_state(job: Job) -> None:
    """Draw the place in the queue, the progress, or the end with what to do next."""
    if job.state == "queued":
        st.info(f"Queued as number {job.queue_position}.", icon=":material/schedule:")
        ensure_worker()
    elif job.open:
        share, text = progress_of(job)
        st.progress(share, text=label(text))
        st.caption(
            f"Cancel requested by {label(job.cancelled_by or 'another person')}; saving a checkpoint."
            if job.state == "cancelling"
            else "It runs without this page; this address leads back to it."
        )
    elif job.state == "done":
        _draw_done(job)
    else:
        draw_unfinished(job)
    for warning in job.warnings[-WARNINGS_SHOWN:]:
        st.warning(label(warning), icon=":material/warning:")


def _draw_done(job: Job) -> None:
    trained = f"**{label(job.name)}** is trained ({format_duration(job.seconds)})."
    if model_folder(job.name) is None:
        st.warning(
            f"{trained} Its folder was deleted. “Duplicate settings” opens the same training again.",
            icon=":material/folder_off:",
        )
        return
    role = None
    with contextlib.suppress(EntailError):  # it fits no role, or was deleted
        role = role_of(job.name)
    use = ROLES[role].use if role is not None else ""
    st.success(f"{trained} {use}", icon=":material/school:")
    comparison = read_comparison(job.evaluation)
    if comparison is not None:
        draw_comparison(comparison, ("active", "this one"))
    elif role is not None:
        st.markdown("Not compared with the active model yet.")
    if role is not None and st.button(
        "Compare and promote",
        icon=":material/published_with_changes:",
        type="secondary" if comparison is not None and comparison.verdict == "worse" else "primary",
        key="promote_job",
        on_click=_open_promotion,
        args=(job.name,),
    ):
        st.rerun()


def _open_promotion(name: str) -> None:
    open_job(None, candidate=name)
    st.session_state["models_view"] = INSTALLED


def _draw_charts(job: Job) -> None:
    charts = panels(jobs().list_events(job.id))
    if charts:
        st.caption("By step; each point is the mean since the last one.")
    elif job.state == "running":
        st.caption("Charts appear after the first steps.")
    for start in range(0, len(charts), 2):
        for cell, panel in zip(st.columns(2), charts[start : start + 2], strict=False):
            cell.altair_chart(
                draw_panel(panel), key=f"panel-{panel.title}", alt=describe(panel), width="stretch"
            )


def _draw_settings(job: Job) -> None:
    with st.expander("Settings", icon=":material/tune:"):
        method = methods().get(job.spec.method)
        settings = job.spec.config if method is None else method.list_changes(job.spec.config)
        st.caption("All settings:" if method is None else "Non-default settings:")
        rows = {setting_label(name): str(value) for name, value in settings.items()} or {"None": ""}
        rows |= {"Data": job.spec.about, "Job": job.id}
        rows |= {"Device": job.spec.device} if job.spec.device else {}
        rows |= {"Machine": job.status.host} if job.status.host else {}
        st.dataframe(pd.DataFrame(rows.items(), columns=["setting", "value"]), hide_index=True)


def _draw_back() -> None:
    if st.button("All jobs", icon=":material/list:", type="tertiary", key="all_jobs_button"):
        open_job(None)
        st.rerun()


def _act(act: Callable[[], object], *, leave: bool = False) -> None:
    with toast_errors():
        act()
        if leave:
            open_job(None)
        st.rerun()


DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3])
_DOTS = 40
_VALUES = {LOSS: "Loss", DEV: "Score"}
"""Title of the upright axis by title of the chart, where they differ."""


def draw_panel(panel: Panel) -> alt.Chart:
    """Return a panel as a line chart over steps."""
    import altair as alt

    table = pd.DataFrame(panel.points, columns=["step", "epoch", "series", "value"])
    names = list(panel.series)
    colours, dashes = (
        alt.Scale(domain=names, range=list(islice(cycle(styles), len(names)))) for styles in (SERIES, DASHES)
    )
    legend = alt.Legend(title=None, orient="top", columns=3, symbolType="stroke") if len(names) > 1 else None
    few = len(panel.points) <= _DOTS * len(names)
    chart: alt.Chart = (
        alt.Chart(table)
        .mark_line(point={"size": 22} if few else False, strokeWidth=1.8)
        .encode(
            x=alt.X("step:Q", title="Step", axis=alt.Axis(tickMinStep=1, format=",d", tickCount=6)),
            y=alt.Y(
                "value:Q",
                title=_VALUES.get(panel.title.partition(",")[0], panel.title),
                scale=alt.Scale(zero=False, nice=True),
                axis=alt.Axis(tickCount=5, format=",.5~g"),
            ),
            color=alt.Color("series:N", scale=colours, legend=legend),
            strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=legend),
            tooltip=["series:N", alt.Tooltip("value:Q", format=".4~g"), "step:Q", "epoch:Q"],
        )
        .properties(height=265 if legend else 215, title=panel.title)
    )
    return chart


def describe(panel: Panel) -> str:
    """Return the alternative text of a chart: the newest value of each series."""
    newest = {row["series"]: row["value"] for row in panel.points}
    values = ", ".join(f"{name} {newest[name]:.4g}" for name in panel.series)
    return f"{panel.title}, last values: {values}"
