"""List of jobs: running, queued in order, and ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import streamlit as st

from entail.errors import EntailError
from entail.jobs.record import Job, State
from entail.settings import is_demo
from entail.training.method import methods
from entail.ui.components.elements import toast_errors
from entail.ui.shared.resources import jobs
from entail.ui.shared.text import ago, label, spoken

LIVE = 1.0
"""Seconds between two refreshes while a job is queued or running."""

IDLE = 5.0
"""Seconds between two refreshes while none is, since another user may start one."""

NEW = "new"
"""Value of `job` in the address for the form of a new training."""

ENDED_SHOWN = 8
"""Ended jobs that are shown at first."""


class StateStyle(NamedTuple):
    """Icon and colour of a job state."""

    icon: str
    colour: Literal["blue", "green", "red", "orange", "gray", "violet"]


LOOKS: Mapping[State, StateStyle] = {
    "queued": StateStyle(":material/schedule:", "gray"),
    "running": StateStyle(":material/play_circle:", "blue"),
    "cancelling": StateStyle(":material/stop_circle:", "orange"),
    "cancelled": StateStyle(":material/cancel:", "gray"),
    "done": StateStyle(":material/check_circle:", "green"),
    "failed": StateStyle(":material/error:", "red"),
    "interrupted": StateStyle(":material/power_off:", "orange"),
}


def draw_jobs() -> None:
    """Draw all jobs, refreshed while they run."""
    busy = any(job.open for job in jobs().jobs())
    st.fragment(_draw_list, run_every=LIVE if busy else IDLE)(busy)


def open_job(job: str | None, **more: str) -> None:
    """Put a job, the form (`NEW`) or the list into the address."""
    for name in ("job", "like", "candidate"):
        st.query_params.pop(name, None)
    st.query_params.update({"job": job, **more} if job else more)


def draw_badge(job: Job) -> None:
    """Draw the state of a job."""
    words = f"{job.state}, number {job.queue_position}" if job.queue_position else job.state
    st.badge(words, icon=LOOKS[job.state].icon, color=LOOKS[job.state].colour)


def draw_unfinished(job: Job) -> None:
    """Draw why a job ended without a result, and what to do."""
    cancelled = job.state == "cancelled"
    verb = job.state if job.state == "failed" else f"was {job.state}"
    by = f" by {label(job.cancelled_by)}" if job.cancelled_by else ""
    after = f" after {format_duration(job.seconds)}" if job.seconds else ""
    reason = "" if cancelled else f": {label(job.status.what or 'unknown reason')}"
    todo = f"  \n**What to do:** {label(job.status.todo)}." if job.status.todo else ""
    draw = st.info if cancelled else st.error
    draw(f"**{label(job.name)}** {verb}{by}{after}{reason}.{todo}", icon=LOOKS[job.state].icon)


def describe_job(job: Job) -> str:
    """Return method, data, author and time of a job as Markdown."""
    how = methods().get(job.spec.method)
    title = how.title.partition(":")[0] if how and how.title else job.spec.method
    parts = [title, f"from {job.spec.about}", f"by {job.spec.by}, {ago(job.spec.at)}"]
    if job.seconds:
        parts.append(format_duration(job.seconds))
    return label(" · ".join(parts))


def format_duration(seconds: float) -> str:
    """Return a duration as text.

    >>> format_duration(0.4), format_duration(75), format_duration(180), format_duration(3700)
    ('1 s', '1 min 15 s', '3 min', '1 h 1 min')
    """
    minutes, rest = divmod(max(1, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s".removesuffix(" 0 s") if minutes else f"{rest} s"


def progress_of(job: Job) -> tuple[float, str]:
    """Return the share done of a job's current stage, and a text for it."""
    if job.progress is None:
        return 0.0, f"preparing, {format_duration(job.seconds)}"
    return min(1.0, job.progress.fraction), str(job.progress)


def ensure_worker() -> None:
    """Start a worker if jobs are queued; warn if there is none and none may be started."""
    all_jobs = jobs()
    try:
        all_jobs.ensure_worker()
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
        return
    alive = any(worker.alive for worker in all_jobs.workers())
    if all_jobs.queued() and not alive and not all_jobs.settings.starts_worker:
        st.warning(
            "No worker is running. Start one with `entail worker` on the machine that should train.",
            icon=":material/engineering:",
        )


def _draw_list(busy: bool) -> None:
    readable_jobs = jobs().jobs()
    if any(job.open for job in readable_jobs) != busy:
        st.rerun()
    ensure_worker()
    queued = [job for job in readable_jobs if job.queue_position]
    queued.sort(key=lambda job: job.queue_position or 0)
    running = [job for job in readable_jobs if job.open and not job.queue_position]
    ended = [job for job in readable_jobs if not job.open]
    if running or queued:
        st.markdown(f"**{len(running)} running, {len(queued)} queued**")
    for job in [*running, *queued]:
        _draw_row(job)
    for job_id, why in jobs().unreadable().items():
        st.error(label(f"Job {job_id} cannot be read: {why}"), icon=":material/error:")
        if not is_demo() and st.button(
            "Delete", key=f"delete-{job_id}", disabled=st.session_state.get("author") is None
        ):
            with toast_errors():
                jobs().delete(job_id)
                st.rerun()
    if ended:
        st.markdown(f"**{len(ended)} ended**")
    every = len(ended) <= ENDED_SHOWN or st.toggle(f"Show all {len(ended)}", key="all_jobs")
    for job in ended if every else ended[:ENDED_SHOWN]:
        _draw_row(job)


def _draw_row(job: Job) -> None:
    with st.container(border=True, key=f"job-{job.id}", gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{label(job.name)}**", width="content")
            draw_badge(job)
            st.space("stretch")
            if st.button(spoken("Open", job.name), key=f"open-{job.id}", help=f"Open {label(job.name)}"):
                open_job(job.id)
                st.rerun()
        st.caption(describe_job(job))
        if job.state in ("running", "cancelling"):
            share, words = progress_of(job)
            st.progress(share, text=label(words))
        elif job.status.what and job.state != "cancelled":
            st.caption(f"{LOOKS[job.state].icon} {label(job.status.what, longest=300)}")
