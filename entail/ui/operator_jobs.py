"""The queue and its workers, and the ends of the logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import streamlit as st

from entail.errors import EntailError
from entail.jobs.record import Job
from entail.operations.logs import logs, tail
from entail.ui.resources import Workspace, jobs
from entail.ui.words import ago, label

EVERY = 3.0
"""Seconds between two looks."""

LINES = 200
"""Lines of a log."""


def draw_jobs_and_logs(shared: Workspace) -> None:
    """Draw how many jobs wait, who works them off, and a log to read."""
    st.subheader("Queue")
    _draw_queue()
    st.subheader("Logs")
    _draw_logs()


@st.fragment(run_every=EVERY)
def _draw_queue() -> None:
    found, workers = jobs().jobs(), jobs().workers()
    with st.container(horizontal=True, gap="large"):
        st.metric("Waiting", sum(job.state == "queued" for job in found), width="content")
        st.metric("Running", sum(job.state in ("running", "cancelling") for job in found), width="content")
        st.metric("Ended", sum(not job.open for job in found), width="content")
        st.metric("Workers", sum(worker.alive for worker in workers), width="content")
    for worker in workers:
        if worker.alive:
            doing = f"at {', '.join(worker.at)}" if worker.at else "waits for a job"
            st.markdown(
                f":green[:material/check_circle:] **{label(worker.host)}** alive since "
                f"{worker.since:%d %b %H:%M} UTC ({ago(worker.since)}), process {worker.pid}, {label(doing)}"
            )
        else:
            st.markdown(
                f":gray[:material/power_off: {label(worker.host)}: its worker is gone, process {worker.pid}]"
            )
    if not any(worker.alive for worker in workers):
        _draw_start()
    for job_id, why in jobs().unreadable().items():
        st.warning(f"{label(job_id)}: {label(why, longest=300)}")


def _draw_start() -> None:
    if not jobs().settings.starts_worker:
        st.caption(
            "No worker is alive, and none is started from here (ENTAIL_WORKER=none): run `entail worker`."
        )
        return
    st.caption(
        "No worker is alive: one is started when a job is submitted, and ends after a minute without work."
    )
    if st.button("Start a worker", icon=":material/play_arrow:", key="start_worker"):
        try:
            jobs().ensure_worker()
        except EntailError as error:
            st.error(label(str(error)))
            return
        st.toast("A worker is starting.")


def _draw_logs() -> None:
    found = {job.id: job for job in jobs().jobs()}
    names = [log.name for log in logs()]
    name = st.selectbox(
        "Log",
        [*names, *found],
        format_func=lambda key: _called(key, found),
        key="log_name",
    )
    _draw_tail(name)


@st.fragment(run_every=EVERY)
def _draw_tail(name: str) -> None:
    try:
        text = tail(name, lines=LINES, secrets=secret_values())
    except EntailError as error:
        st.caption(label(str(error)))
        return
    if not text:
        missing = " It is kept where `entail app` started the app." if name == "app" else ""
        st.caption(f"Nothing was said yet.{missing}")
        return
    # In a key of its own, so that a page that is looked at stays where it was scrolled to.
    with st.container(height=420, key="log_tail", autoscroll=True):
        st.code(text, language=None, wrap_lines=True)
    st.caption(
        f"The last {LINES} lines; what looks like a secret is masked. Also: `entail logs {label(name)}`."
    )


def _called(name: str, found: Mapping[str, Job]) -> str:
    if name in found:
        return f"job of {found[name].name}, {found[name].state} ({name})"
    return next(f"{log.name}: {log.what}" for log in logs() if log.name == name)


def secret_values() -> list[str]:
    """Return the values of the app's secrets, which stand in no log that is shown."""
    return list(_values(st.secrets.to_dict())) if st.secrets.load_if_toml_exists() else []


def _values(section: Mapping[str, Any]) -> Iterator[str]:
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _values(value)
        elif isinstance(value, str) and any(word in name for word in ("secret", "token", "password", "key")):
            yield value
