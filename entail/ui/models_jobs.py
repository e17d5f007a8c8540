"""The jobs as a list: what runs, what waits in which order, how the others ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from entail.errors import EntailError
from entail.jobs.method import methods
from entail.jobs.record import Job, State
from entail.settings import is_demo
from entail.ui.resources import jobs
from entail.ui.words import ago, label

LIVE = 1.0
"""Seconds between two looks while something queues or runs."""

IDLE = 5.0
"""Seconds between two looks while nothing does: somebody else may start one."""

NEW = "new"
"""What the address says (`job=new`) where a training is about to be set up."""

ENDED_SHOWN = 8
"""Jobs that have ended which are shown at first."""

Colour = Literal["blue", "green", "red", "orange", "gray", "violet"]


@dataclass(frozen=True)
class Look:
    """How a state is shown."""

    words: str
    icon: str
    colour: Colour


LOOKS: Mapping[State, Look] = {
    "queued": Look("waits", ":material/schedule:", "gray"),
    "running": Look("runs", ":material/play_circle:", "blue"),
    "cancelling": Look("is being cancelled", ":material/stop_circle:", "orange"),
    "cancelled": Look("cancelled", ":material/cancel:", "gray"),
    "done": Look("done", ":material/check_circle:", "green"),
    "failed": Look("failed", ":material/error:", "red"),
    "interrupted": Look("interrupted", ":material/power_off:", "orange"),
}


def draw_jobs() -> None:
    """Draw all jobs, and go on by itself as they go on."""
    busy = any(job.open for job in jobs().jobs())
    st.fragment(_draw_list, run_every=LIVE if busy else IDLE)(busy)


def go(job: str | None, **more: str) -> None:
    """Lead to a job, to the form (`NEW`), or to the list, and put that into the address."""
    for name in ("job", "like", "candidate"):
        st.query_params.pop(name, None)
    st.query_params.update({"job": job, **more} if job else more)


def badge(job: Job) -> None:
    """Draw a job's state."""
    look = LOOKS[job.state]
    words = f"{look.words}, number {job.place}" if job.place else look.words
    st.badge(words, icon=look.icon, color=look.colour)


def about(job: Job) -> str:
    """Return what a job is, as Markdown: its method, data, author, time."""
    how = methods().get(job.spec.method)
    title = how.title.partition(":")[0] if how and how.title else job.spec.method
    parts = [title, f"from {job.spec.about}", f"by {job.spec.by}, {ago(job.spec.at)}"]
    if job.seconds:
        parts.append(spell(job.seconds))
    return label(" · ".join(parts))


def spell(seconds: float) -> str:
    """Return a time in words.

    >>> spell(0.4), spell(75), spell(180), spell(3700)
    ('1 s', '1 min 15 s', '3 min', '1 h 1 min')
    """
    whole = max(1, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s".removesuffix(" 0 s") if minutes else f"{rest} s"


def how_far(job: Job) -> tuple[float, str]:
    """Return the share done of what a job is at, and words for it."""
    if job.progress is None:
        return 0.0, f"preparing, {spell(job.seconds)}"
    return min(1.0, job.progress.fraction), str(job.progress)


def tend() -> None:
    """See to it that what waits is worked off, and say so where nobody will."""
    all_jobs = jobs()
    try:
        all_jobs.tend()
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
        return
    alive = any(worker.alive for worker in all_jobs.workers())
    if all_jobs.queued() and not alive and not all_jobs.settings.starts_worker:
        st.warning(
            "Nobody works off the queue: start a worker with `entail worker` where it shall train.",
            icon=":material/engineering:",
        )


def _draw_list(busy: bool) -> None:
    found, unreadable = jobs().jobs(), jobs().unreadable()
    if any(job.open for job in found) != busy:
        st.rerun()
    tend()
    waiting = sorted((job for job in found if job.place), key=lambda job: job.place or 0)
    running = [job for job in found if job.open and not job.place]
    ended = [job for job in found if not job.open]
    if running or waiting:
        st.markdown(f"**{len(running)} running, {len(waiting)} waiting**")
    for job in [*running, *waiting]:
        _draw_row(job)
    for job_id, why in unreadable.items():
        st.error(label(f"Job {job_id} cannot be read: {why}"), icon=":material/error:")
        if not is_demo() and st.button("Delete it", key=f"delete-{job_id}"):
            try:
                jobs().delete(job_id)
            except EntailError as error:
                st.toast(label(str(error)), icon=":material/error:")
            else:
                st.rerun()
    if not ended:
        return
    st.markdown(f"**{len(ended)} ended**")
    every = len(ended) <= ENDED_SHOWN or st.toggle(f"Show all {len(ended)}", key="all_jobs")
    for job in ended if every else ended[:ENDED_SHOWN]:
        _draw_row(job)


def _draw_row(job: Job) -> None:
    with st.container(border=True, key=f"job-{job.id}", gap="xxsmall"):
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"
        ):
            with st.container(horizontal=True, vertical_alignment="center", width="content", gap="small"):
                st.markdown(f"**{label(job.name)}**", width="content")
                badge(job)
            if st.button("Open", key=f"open-{job.id}", help=f"Look at {label(job.name)}"):
                go(job.id)
                st.rerun()
        st.caption(about(job))
        if job.state in ("running", "cancelling"):
            share, words = how_far(job)
            st.progress(share, text=label(words))
        elif job.status.what and job.state != "cancelled":
            st.caption(f"{LOOKS[job.state].icon} {label(job.status.what, longest=300)}")
