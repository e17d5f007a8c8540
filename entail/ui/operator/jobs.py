"""Job queue, its workers, and logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import streamlit as st

from entail.errors import EntailError
from entail.operations.logs import logs, tail
from entail.ui.shared.resources import Workspace, jobs
from entail.ui.shared.text import ago, label

EVERY = 3.0
"""Seconds between two updates."""

LINES = 200
"""Last lines shown of a log."""


def draw_jobs_and_logs(shared: Workspace) -> None:
    """Draw the queue with its workers, and a log."""
    st.subheader("Queue")
    _draw_queue()
    st.subheader("Logs")
    names = {log.name: f"{log.name}: {log.what}" for log in logs()}
    names |= {job.id: f"job of {job.name}, {job.state} ({job.id})" for job in jobs().jobs()}
    _draw_log(st.selectbox("Log", list(names), format_func=names.__getitem__, key="log_name"))


@st.fragment(run_every=EVERY)
def _draw_queue() -> None:
    all_jobs, workers = jobs().jobs(), jobs().workers()
    with st.container(horizontal=True, gap="large"):
        st.metric("Queued", sum(job.state == "queued" for job in all_jobs), width="content")
        running = sum(job.state in ("running", "cancelling") for job in all_jobs)
        st.metric("Running", running, width="content")
        st.metric("Ended", sum(not job.open for job in all_jobs), width="content")
        st.metric("Workers", sum(worker.alive for worker in workers), width="content")
    for worker in workers:
        if worker.alive:
            task = f"runs {', '.join(worker.at)}" if worker.at else "idle"
            st.markdown(
                f":green[:material/check_circle:] **{label(worker.host)}** since {worker.since:%d %b %H:%M} "
                f"UTC ({ago(worker.since)}), process {worker.pid}, {label(task)}"
            )
        else:
            st.markdown(f":gray[:material/power_off: {label(worker.host)}: stopped, process {worker.pid}]")
    if not any(worker.alive for worker in workers):
        _draw_start()
    for job_id, reason in jobs().unreadable().items():
        st.warning(f"{label(job_id)}: {label(reason, longest=300)}")


def _draw_start() -> None:
    if not jobs().settings.starts_worker:
        st.caption("No worker runs, and the app starts none (ENTAIL_WORKER=none). Run `entail worker`.")
        return
    st.caption("No worker runs. The app starts one with a job; it stops after a minute without work.")
    if st.button("Start worker", icon=":material/play_arrow:", key="start_worker"):
        try:
            jobs().start_worker()
        except EntailError as error:
            st.error(label(str(error)))
            return
        st.toast("A worker is starting.")


@st.fragment(run_every=EVERY)
def _draw_log(name: str) -> None:
    try:
        text = tail(name, lines=LINES, secrets=secret_values())
    except EntailError as error:
        st.caption(label(str(error)))
        return
    if not text:
        hint = " Only an app started by `entail app` writes one." if name == "app" else ""
        st.caption(f"The log is empty.{hint}")
        return
    # A fixed key keeps the scroll position between updates.
    with st.container(height=420, key="log_tail", autoscroll=True):
        st.code(text, language=None, wrap_lines=True)
    st.caption(f"Last {LINES} lines, secrets masked. On the command line: `entail logs {label(name)}`.")


def secret_values() -> list[str]:
    """Return the values of the app's secrets, to mask them in logs."""
    return list(_values(st.secrets.to_dict())) if st.secrets.load_if_toml_exists() else []


def _values(section: Mapping[str, Any]) -> Iterator[str]:
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _values(value)
        elif isinstance(value, str) and any(word in name for word in ("secret", "token", "password", "key")):
            yield value
