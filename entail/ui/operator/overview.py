"""Operator page: access, views, machine and health, job queue and logs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import streamlit as st

from entail.errors import EntailError
from entail.operations.doctor import Diagnosis, diagnose
from entail.operations.logs import logs, tail
from entail.operations.storage import in_words
from entail.results import versions
from entail.runtime.machine import inspect_machine
from entail.settings import is_demo, load_settings
from entail.ui.components.elements import draw_table, pick_view, show_errors
from entail.ui.frame import sign_in
from entail.ui.operator.storage import CHECKS, draw_database, draw_licences, draw_storage
from entail.ui.shared.resources import Workspace, jobs
from entail.ui.shared.text import ago, label
from entail.ui.shared.waiting import draw_result, start_task

LOG_LINES = 200
"""Last lines shown of a log."""


def draw_operator(shared: Workspace, author: str | None) -> None:
    """Draw the views of the page, or the reason why this visitor has no access."""
    if reason := access_refusal():
        st.info(reason, icon=":material/lock:")
        return
    view = pick_view("View", tuple(_VIEWS), default="Machine", key="operator_view", bind="query-params")
    _VIEWS[view](shared)


def access_refusal() -> str | None:
    """Return why this visitor has no access, None if they have."""
    if is_demo():
        return "The operator page is not available in a demo."
    operators = load_settings().operators
    if not sign_in.is_configured():
        # Anyone can type any name: a list of operators needs sign-in.
        return (
            "ENTAIL_OPERATORS limits access, but sign-in is not set up. Set up sign-in "
            "(docs/operating.md), or remove ENTAIL_OPERATORS."
            if operators
            else None
        )
    identity = sign_in.current_identity()
    if identity is None:
        return "Sign in to see this page; the button is in the sidebar."
    if not operators and "SPACE_HOST" in os.environ:  # where whoever has an account can sign in
        return "ENTAIL_OPERATORS has to name the e-mail addresses of this Space's operators."
    if operators and identity.email not in operators:
        return "Your address is not in ENTAIL_OPERATORS."
    return None


def draw_machine(shared: Workspace) -> None:
    """Draw load, versions, and the check of `entail doctor`."""
    _draw_load()
    left, right = st.columns([3, 4], gap="large")
    with left:
        st.subheader("Versions")
        draw_table([{"package": name, "version": version} for name, version in versions().items()])
    with right:
        st.subheader("Health")
        st.caption("Runs `entail doctor`, which reads the log of every tree.")
        st.button(
            "Check now",
            icon=":material/stethoscope:",
            key="check_health",
            on_click=start_task,
            args=(CHECKS, "health", lambda report: diagnose(progress=report)),
            kwargs={"slot": "health"},
        )
        diagnosis = draw_result(CHECKS, "health", Diagnosis, waiting="Checking …", slot="health")
        if diagnosis is not None and not diagnosis.problems:
            st.success("No problems found.", icon=":material/check_circle:")
        for problem in diagnosis.problems if diagnosis is not None else ():
            st.error(label(problem, longest=600), icon=":material/error:")


@st.fragment(run_every=5.0)
def _draw_load() -> None:
    machine = inspect_machine()
    used = machine.memory - machine.memory_free
    cells = st.columns(4)
    cells[0].metric(
        "Memory used",
        in_words(used),
        help=f"Of {in_words(machine.memory)}, the memory of this machine or container.",
    )
    cells[0].progress(used / machine.memory if machine.memory else 0.0)
    cells[1].metric("This app", in_words(machine.process_memory), help="Memory of the app's process.")
    cells[1].caption(f"Since {machine.process_since:%d %b %H:%M} UTC, {ago(machine.process_since)}")
    if machine.load is not None:
        now, _, before = machine.load
        cells[2].metric(
            "Load",
            f"{now:.1f} of {machine.cores}",
            help="Processes that run or wait for a core, mean of the last minute.",
        )
        cells[2].caption(f"{before:.1f} over the last 15 minutes")
    device = load_settings().device
    if device == "auto":
        device = "cuda" if machine.gpus else "cpu"
    cells[3].metric("Device", device, help="Device of encoders; set by ENTAIL_DEVICE.")
    cells[3].caption(label(machine.cpu, longest=60))
    for gpu in machine.gpus:
        busy = f", {gpu.busy:.0%} busy" if gpu.busy is not None else ""
        st.markdown(
            f":material/memory: **{label(gpu.name)}** {in_words(gpu.used)} of {in_words(gpu.total)}{busy}"
            f" :gray[driver {label(gpu.driver)}]"
        )
        st.progress(min(1.0, gpu.used / gpu.total) if gpu.total else 0.0)


def draw_jobs_and_logs(shared: Workspace) -> None:
    """Draw the queue with its workers, and a log."""
    st.subheader("Queue")
    _draw_queue()
    st.subheader("Logs")
    names = {log.name: f"{log.name}: {log.what}" for log in logs()}
    names |= {job.id: f"job of {job.name} ({job.id})" for job in jobs().jobs()}
    _draw_log(st.selectbox("Log", list(names), format_func=names.__getitem__, key="log_name"))


@st.fragment(run_every=3.0)
def _draw_queue() -> None:
    all_jobs, workers = jobs().jobs(), jobs().workers()
    metrics = {
        "Queued": sum(job.state == "queued" for job in all_jobs),
        "Running": sum(job.state in ("running", "cancelling") for job in all_jobs),
        "Ended": sum(not job.open for job in all_jobs),
        "Workers": sum(worker.alive for worker in workers),
    }
    with st.container(horizontal=True, gap="large"):
        for name, count in metrics.items():
            st.metric(name, count, width="content")
    for worker in workers:
        if worker.alive:
            task = f"runs {', '.join(worker.at)}" if worker.at else "idle"
            st.markdown(
                f":green[:material/check_circle:] **{label(worker.host)}** since {worker.since:%d %b %H:%M} "
                f"UTC ({ago(worker.since)}), process {worker.pid}, {label(task)}"
            )
        else:
            st.markdown(f":gray[:material/power_off: {label(worker.host)}: stopped, process {worker.pid}]")
    if not metrics["Workers"]:
        _draw_start()
    for job_id, reason in jobs().unreadable().items():
        st.warning(f"{label(job_id)}: {label(reason, longest=300)}")


def _draw_start() -> None:
    if not jobs().settings.starts_worker:
        st.caption("No worker runs, and the app starts none (ENTAIL_WORKER=none). Run `entail worker`.")
        return
    st.caption("No worker runs. The app starts one with a job; it stops after a minute without work.")
    if st.button("Start worker", icon=":material/play_arrow:", key="start_worker"):
        with show_errors():
            jobs().start_worker()
            st.toast("A worker is starting.")


@st.fragment(run_every=3.0)
def _draw_log(name: str) -> None:
    try:
        text = tail(name, lines=LOG_LINES, secrets=secret_values())
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
    st.caption(f"Last {LOG_LINES} lines, secrets masked. On the command line: `entail logs {label(name)}`.")


def secret_values() -> list[str]:
    """Return the values of the app's secrets, to mask them in logs."""
    return list(_values(st.secrets.to_dict())) if st.secrets.load_if_toml_exists() else []


def _values(section: Mapping[str, Any]) -> Iterator[str]:
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _values(value)
        elif isinstance(value, str) and any(word in name for word in ("secret", "token", "password", "key")):
            yield value


_VIEWS: Mapping[str, Callable[[Workspace], None]] = {
    "Machine": draw_machine,
    "Storage": draw_storage,
    "Jobs and logs": draw_jobs_and_logs,
    "Database": draw_database,
    "Licences": draw_licences,
}
