"""Versions, device, memory and load, and whether the installation is well."""

from __future__ import annotations

import secrets

import streamlit as st

from entail.operations.machine import Machine, look_at_machine
from entail.operations.storage import in_words
from entail.results import versions
from entail.settings import load_settings
from entail.trees.doctor import Diagnosis, diagnose
from entail.ui.resources import Workspace
from entail.ui.words import ago, label
from entail.ui.works import Works

EVERY = 5.0
"""Seconds between two looks at the machine."""


@st.cache_resource(show_spinner=False)
def checks() -> Works:
    """Return what takes its time here, made once for all sessions."""
    return Works(8, failure="the check could not be made")


def draw_machine(shared: Workspace) -> None:
    """Draw how busy the machine is, what is installed, and the check that `entail doctor` makes."""
    _draw_now()
    left, right = st.columns([3, 4], gap="large")
    with left:
        st.subheader("Versions")
        st.dataframe(
            [{"what": name, "version": version} for name, version in versions().items()],
            hide_index=True,
            width="stretch",
            height="content",
        )
    with right:
        st.subheader("Health")
        st.caption(
            "What `entail doctor` says. It reads every tree's log, which takes a moment when there are many."
        )
        if st.button("Check now", icon=":material/stethoscope:", key="check_health"):
            st.session_state["health"] = secrets.token_hex(4)
        if "health" in st.session_state:
            _draw_health(("health", str(st.session_state["health"])))


@st.fragment(run_every=EVERY)
def _draw_now() -> None:
    machine = look_at_machine()
    used = machine.memory - machine.memory_free
    cells = st.columns(4)
    cells[0].metric(
        "Memory used",
        in_words(used),
        help=f"Of {in_words(machine.memory)} on this machine, or as much as this container may take.",
    )
    cells[0].progress(used / machine.memory if machine.memory else 0.0)
    cells[1].metric("This app", in_words(machine.process_memory), help="What the app's process holds.")
    cells[1].caption(f"Since {machine.process_since:%d %b %H:%M} UTC, {ago(machine.process_since)}")
    if machine.load is not None:
        now, _, before = machine.load
        cells[2].metric(
            "Load",
            f"{now:.1f} of {machine.cores}",
            help="Processes that compute or wait for a core, in the last minute, and the cores there are.",
        )
        cells[2].caption(f"{before:.1f} over the last 15 minutes")
    cells[3].metric("Device", _device(machine), help="Where encoders run: ENTAIL_DEVICE.")
    cells[3].caption(label(machine.cpu, longest=60))
    for gpu in machine.gpus:
        busy = f", {gpu.busy:.0%} busy" if gpu.busy is not None else ""
        st.markdown(
            f":material/memory: **{label(gpu.name)}** {in_words(gpu.used)} of {in_words(gpu.total)}{busy}"
            f" :gray[driver {label(gpu.driver)}]"
        )
        st.progress(min(1.0, gpu.used / gpu.total) if gpu.total else 0.0)


def _device(machine: Machine) -> str:
    asked = load_settings().device
    if asked != "auto":
        return asked
    return "cuda" if machine.gpus else "cpu"


def _draw_health(place: tuple[str, str]) -> None:
    work = checks().take(place, lambda report: diagnose(progress=report), wait=2.5)
    if not work.done.is_set():
        done = work.progress
        st.progress(
            done.fraction if done is not None else 0.0,
            text=f"{done.what}: {done.done:,} of {done.total:,}" if done is not None else "Looking …",
        )
        st.fragment(_again, run_every=1.0)(place)
        return
    if work.error is not None:
        st.error(label(str(work.error)))
        return
    found = work.value
    assert isinstance(found, Diagnosis)
    if not found.problems:
        st.success("All is well.", icon=":material/check_circle:")
    for problem in found.problems:
        st.error(label(problem, longest=600), icon=":material/error:")


def _again(place: tuple[str, str]) -> None:
    """Draw the page anew when the check is done."""
    work = checks().look(place)
    if work is None or work.done.is_set():
        st.rerun()
