"""Operator page: access, views, machine and health."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

import streamlit as st

from entail.operations.doctor import Diagnosis, Machine, diagnose, look_at_machine
from entail.operations.storage import in_words
from entail.results import versions
from entail.settings import is_demo, load_settings
from entail.ui.frame import sign_in
from entail.ui.operator.jobs import draw_jobs_and_logs
from entail.ui.operator.storage import CHECKS, draw_database, draw_licences, draw_storage
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import ago, label
from entail.ui.shared.waiting import draw_progress

EVERY = 5.0
"""Seconds between two measurements of the machine."""


def draw_operator(shared: Workspace, author: str | None) -> None:
    """Draw the views of the page, or the reason why this visitor has no access."""
    if reason := access_refusal():
        st.info(reason, icon=":material/lock:")
        return
    view = st.segmented_control(
        "View",
        tuple(_VIEWS),
        default="Machine",
        required=True,
        label_visibility="collapsed",
        key="operator_view",
        bind="query-params",
    )
    _VIEWS[view or "Machine"](shared)


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
    if operators and identity.email not in operators:
        return "Your address is not in ENTAIL_OPERATORS."
    return None


def draw_machine(shared: Workspace) -> None:
    """Draw load, versions, and the check of `entail doctor`."""
    _draw_load()
    left, right = st.columns([3, 4], gap="large")
    with left:
        st.subheader("Versions")
        st.dataframe(
            [{"package": name, "version": version} for name, version in versions().items()],
            hide_index=True,
            width="stretch",
            height="content",
        )
    with right:
        st.subheader("Health")
        st.caption("Runs `entail doctor`, which reads the log of every tree.")
        if st.button("Check now", icon=":material/stethoscope:", key="check_health"):
            st.session_state["health"] = secrets.token_hex(4)
        if "health" in st.session_state:
            _draw_health(("health", str(st.session_state["health"])))


@st.fragment(run_every=EVERY)
def _draw_load() -> None:
    machine = look_at_machine()
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
    cells[3].metric("Device", _device(machine), help="Device of encoders; set by ENTAIL_DEVICE.")
    cells[3].caption(label(machine.cpu, longest=60))
    for gpu in machine.gpus:
        busy = f", {gpu.busy:.0%} busy" if gpu.busy is not None else ""
        st.markdown(
            f":material/memory: **{label(gpu.name)}** {in_words(gpu.used)} of {in_words(gpu.total)}{busy}"
            f" :gray[driver {label(gpu.driver)}]"
        )
        st.progress(min(1.0, gpu.used / gpu.total) if gpu.total else 0.0)


def _device(machine: Machine) -> str:
    configured = load_settings().device
    if configured != "auto":
        return configured
    return "cuda" if machine.gpus else "cpu"


def _draw_health(key: tuple[str, str]) -> None:
    task = CHECKS.get_or_start(key, lambda report: diagnose(progress=report), wait=2.5)
    if not isinstance(task.value, Diagnosis):
        draw_progress(task, waiting="Checking …", key="check_again")
        return
    if not task.value.problems:
        st.success("No problems found.", icon=":material/check_circle:")
    for problem in task.value.problems:
        st.error(label(problem, longest=600), icon=":material/error:")


_VIEWS: Mapping[str, Callable[[Workspace], None]] = {
    "Machine": draw_machine,
    "Storage": draw_storage,
    "Jobs and logs": draw_jobs_and_logs,
    "Database": draw_database,
    "Licences": draw_licences,
}
