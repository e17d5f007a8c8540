"""Operator page: access; machine, health and disk, jobs, database and backups."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from entail.memory import CACHE, Usage
from entail.operations.doctor import LITTLE_SPACE, Diagnosis, diagnose
from entail.operations.storage import back_up, backups, in_words, measure_storage
from entail.results import versions
from entail.runtime.tasks import TaskGroup
from entail.settings import MAX_UPLOAD_MB, is_demo, load_settings
from entail.trees.installation.backup import Backup
from entail.trees.installation.health import counts
from entail.trees.store import schema
from entail.ui.components.elements import draw_table, pick_view, show_errors
from entail.ui.frame import sign_in
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.resources import Workspace, jobs
from entail.ui.shared.text import ago, label
from entail.ui.shared.waiting import draw_result, start_task

_SHOWN = 10

CHECKS = TaskGroup("operator", failure="the check failed")
"""Checks and backups."""


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
            "(docs/operate.md), or remove ENTAIL_OPERATORS."
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


def _draw_machine(shared: Workspace) -> None:
    """Draw disk, memory, versions, and the check of `entail doctor`."""
    _draw_storage()
    _draw_memory()
    left, right = st.columns([3, 4], gap="large")
    with left:
        st.subheader("Versions")
        draw_table(
            [{"package": name, "version": version} for name, version in versions().items()],
            column_config={"package": "Package", "version": "Version"},
        )
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


def _draw_storage() -> None:
    room = measure_storage()
    used = in_words(sum(item.size for item in room.kept))
    st.subheader("Disk")
    st.progress(
        1 - room.free / room.total,
        text=f"{in_words(room.free)} of {in_words(room.total)} free on the disk of {label(room.folder)}; "
        f"entail uses {used}. `entail clean` removes what can be rebuilt.",
    )
    if room.free < LITTLE_SPACE:
        st.warning("Low disk space: trainings and backups may fail.", icon=":material/hard_drive:")
    draw_table(
        [
            {
                "what": usage.what,
                "size": in_words(usage.size),
                "can be rebuilt": usage.again,
                "where": usage.where,
            }
            for usage in room.kept
        ],
        column_config={
            "what": "Content",
            "size": "Size",
            "can be rebuilt": "Can be rebuilt",
            "where": "Folder",
        },
    )


def _draw_memory() -> None:
    """Draw the cache of this process by kind."""
    usages = CACHE.usage()
    used = sum(usage.bytes for usage in usages)
    st.subheader("Memory")
    st.progress(
        min(1.0, used / CACHE.budget),
        text=f"Cached by this process: {in_words(used)} of at most {in_words(CACHE.budget)}. What was used "
        "least recently is removed first.",
    )
    draw_table(
        [{**asdict(usage), "bytes": in_words(usage.bytes)} for usage in usages],
        column_config={field.name: field.name.capitalize() for field in fields(Usage)},
    )


def _draw_metrics(values: Mapping[str, str]) -> None:
    with st.container(horizontal=True, gap="large"):
        for name, value in values.items():
            st.metric(name, value, width="content")


@st.fragment(run_every=3.0)
def _draw_jobs(shared: Workspace) -> None:
    """Draw the queue with its workers."""
    st.caption("Logs of the app, the workers and the jobs: `entail logs`.")
    all_jobs = jobs().jobs()
    workers = [worker for worker in jobs().workers() if worker.alive]
    _draw_metrics(
        {
            "Queued": str(sum(job.state == "queued" for job in all_jobs)),
            "Running": str(sum(job.state in ("running", "cancelling") for job in all_jobs)),
            "Ended": str(sum(not job.open for job in all_jobs)),
            "Workers": str(len(workers)),
        }
    )
    for worker in workers:
        task = f"runs {', '.join(worker.at)}" if worker.at else "idle"
        st.markdown(
            f":green[:material/check_circle:] **{label(worker.host)}** since {worker.since:%d %b %H:%M} "
            f"UTC ({ago(worker.since)}), process {worker.pid}, {label(task)}"
        )
    if not workers and not jobs().settings.starts_worker:
        st.caption("No worker runs, and the app starts none (ENTAIL_WORKER=none). Run `entail worker`.")
    elif not workers:
        st.caption("No worker runs. The app starts one with a job; it stops after a minute without work.")
        if st.button("Start worker", icon=":material/play_arrow:", key="start_worker"):
            with show_errors():
                jobs().start_worker()
                st.toast("A worker is starting.")
    for job_id, reason in jobs().unreadable().items():
        st.warning(f"{label(job_id)}: {label(reason, longest=300)}")


def _draw_database(shared: Workspace) -> None:
    """Draw kind, size, schema revision and rows of the database, and its backups."""
    database = shared.database
    rows, size, revision = counts(database)
    _draw_metrics(
        {
            "Kind": "SQLite" if database.file is not None else "PostgreSQL",
            "Size": in_words(size),
            "Schema revision": revision or "none",
            "Trees": f"{rows['trees']:,}",
            "Acts": f"{rows['events']:,}",
        }
    )
    st.caption(f"{label(database.url)} · this version of entail uses schema revision {schema.REVISION}")
    if database.read_only:
        st.warning("The database is read-only.", icon=":material/lock:")
    st.subheader("Backup")
    st.caption(
        "A snapshot of the database and of the models in the data folder. `entail restore FILE` "
        "restores it into SQLite or PostgreSQL. Copy it to another disk."
    )
    st.button(
        "Back up now",
        type="primary",
        icon=":material/save:",
        key="back_up",
        on_click=start_task,
        args=(CHECKS, "backup", lambda report: back_up(progress=report)),
        kwargs={"slot": "backup"},
    )
    backup = draw_result(CHECKS, "backup", Backup, waiting="Writing the backup …", slot="backup")
    if backup is not None:
        st.success(f"Wrote {label(backup.file.name)} ({in_words(backup.size)}).")
    for file in backups()[:_SHOWN]:
        _draw_backup(file)


def _draw_backup(file: Path) -> None:
    stat = file.stat()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/inventory_2: {label(file.name)} :gray[{in_words(stat.st_size)}, "
            f"{ago(datetime.fromtimestamp(stat.st_mtime, UTC))}]",
            width="stretch",
        )
        if stat.st_size <= MAX_UPLOAD_MB * 2**20:
            draw_download("Download", file.name, file.read_bytes)
        else:
            st.caption("Too large to download here; copy it from the folder `backups` of the data folder.")


_VIEWS: Mapping[str, Callable[[Workspace], None]] = {
    "Machine": _draw_machine,
    "Jobs": _draw_jobs,
    "Database": _draw_database,
}
