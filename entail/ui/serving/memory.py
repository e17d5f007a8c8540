"""Models view of the Serving page: models and indexes in memory, their device, and the active models."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from entail.encoders.device import device_name, list_devices
from entail.errors import EntailError
from entail.operations.storage import in_words
from entail.registry.models import active
from entail.registry.roles import ROLES, list_usable
from entail.runtime.memory import INDEX, JUDGE, list_residents, load, use_device
from entail.runtime.models import model_cache
from entail.runtime.tasks import TaskGroup, finish
from entail.serving.history import Traffic
from entail.ui.components.elements import draw_error, draw_table, show_errors, toast_errors
from entail.ui.models.promotion import draw_active_models, draw_notice
from entail.ui.serving.target import Target, is_locked
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import ago
from entail.ui.shared.waiting import draw_result, start_task

KINDS: Mapping[str, tuple[str, str]] = {
    "retriever": ("Retriever", "Trees, Compare, Claims, /search, /encode"),
    "direction": ("Direction", "Direction, Trees, /direction, /search"),
    "chains": ("Chains", "Chains, Trees, /chain"),
    "reranker": ("Re-ranker", "Trees, /search"),
    JUDGE: ("Judge", "Claims, Direction"),
    "steps": ("Check of steps", "Trees"),
    "reader": ("Reader", "Claims"),
    INDEX: ("Index", "Trees, Compare, /search"),
}
"""Kind in memory -> its name, and the pages and endpoints where it answers."""

LOADING = TaskGroup("loading", failure="the model could not be loaded")
"""Models and indexes that are loaded by a click."""

_SLOT = "serving_loading"


def draw_memory(shared: Workspace, author: str | None, target: Target) -> None:
    """Draw what is in memory; of this app also how to load and free it, and the active models."""
    _draw_residents(target)
    if not target.is_own:
        return
    if not is_locked():
        _draw_actions(shared)
    draw_notice()
    with show_errors():
        draw_active_models(shared, author)
    st.page_link("pages/Models.py", label="Compare and promote another model", icon=":material/publish:")


@st.fragment(run_every=5.0)
def _draw_residents(target: Target) -> None:
    samples = target.history.samples(3_600)
    if target.history.error is not None:
        draw_error(target.history.error)
    rows = _describe_residents(Traffic(samples[0], samples[-1]), target) if samples else []
    if rows:
        draw_table(
            pd.DataFrame(rows),
            placeholder="",
            key="serving_memory",
            column_config={"corpus": st.column_config.TextColumn(width="medium")},
        )
        processes = samples[-1].select("entail_process_bytes").values()
        st.caption(
            f"Processes: {len(processes)}, with {in_words(int(sum(processes)))} of memory. A base that "
            "several models share, or an index that several processes share, counts for each of them."
        )
    else:
        st.info(
            "Nothing is in memory yet. A model is loaded when it is first used.", icon=":material/memory:"
        )


def _describe_residents(traffic: Traffic, target: Target) -> list[dict[str, Any]]:
    """Return a row for each model and index, the largest first."""
    since, used = (traffic.last.select(f"entail_model_{name}_seconds") for name in ("loaded", "used"))
    in_use = set()
    if target.is_own:
        with contextlib.suppress(EntailError):  # shown with the active models
            in_use = {active(role=role).encoder for role in ROLES}
    rows = []
    for key, size in sorted(traffic.last.select("entail_model_bytes").items(), key=lambda item: -item[1]):
        if not size:
            continue  # unloaded
        labels = dict(key)
        kind, answers = KINDS.get(labels["kind"], (labels["kind"], ""))
        texts = traffic.count("entail_batch_texts_sum", encoder=labels["name"])
        rows.append(
            {
                "kind": kind,
                "name": model_label(labels["name"]),
                "active": "active" if labels["name"] in in_use and labels["kind"] != INDEX else "",
                "corpus": labels["corpus"],
                "texts in the last hour": int(texts) if texts and labels["kind"] != INDEX else None,
                "size": in_words(int(size)),
                "device": labels["device"],
                "loaded": ago(datetime.fromtimestamp(since[key], UTC)),
                "last used": ago(datetime.fromtimestamp(used[key], UTC)),
                "answers": answers,
                "revision": labels["revision"],
            }
        )
    return rows


def _draw_actions(shared: Workspace) -> None:
    names = sorted({resident.name for resident in list_residents()})
    loadable = _list_loadable(shared)
    left, middle, right = st.columns([4, 4, 2], gap="large")
    with left, st.container(horizontal=True, vertical_alignment="bottom"):
        title = str(st.selectbox("Load or warm up", list(loadable), key="serving_load"))
        st.button(
            "Load",
            icon=":material/bolt:",
            key="serving_load_button",
            on_click=start_task,
            args=(LOADING, title, lambda _: _load(shared, title, *loadable[title])),
            kwargs={"slot": _SLOT},
            help="Loads it and lets it read a text, so that the next request is answered at once.",
        )
    with middle, st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("In memory", names, format_func=model_label, key="serving_release")
        st.button(
            "Unload",
            icon=":material/eject:",
            key="serving_release_button",
            on_click=_unload,
            args=(name,),
            disabled=name is None,
            help="Frees it with its indexes. The next request loads it again.",
        )
    devices, now = list_devices(), device_name()
    now = "cuda:0" if now == "cuda" else now
    right.selectbox(
        "Device",
        devices,
        index=devices.index(now) if now in devices else 0,
        key="serving_device",
        on_change=_change_device,
        disabled=len(devices) < 2,
        help="Until the app restarts, also for trainings; ENTAIL_DEVICE sets it for good.",
    )
    if loaded := draw_result(LOADING, st.session_state.get(_SLOT), str, waiting="Loading …", slot=_SLOT):
        st.caption(f"Loaded and warm: {loaded}.")


def _list_loadable(shared: Workspace) -> dict[str, tuple[str, str, str]]:
    """Return the installed models and the indexes of all corpora: title -> kind, name, revision or corpus."""
    loadable = {
        f"{KINDS[kind][0]}: {model_label(name)}": (kind, name, revision)
        for kind in ROLES
        for name, revision in list_usable(kind).items()
    }
    corpora = shared.corpora.corpora()
    return loadable | {f"Index: {info.name}": (INDEX, active(info.name).encoder, info.id) for info in corpora}


def _load(shared: Workspace, title: str, kind: str, name: str, detail: str) -> str:
    if kind == INDEX:
        finish(model_cache().get_or_start(name, shared.corpora.corpus(detail), wait=0))
    else:
        load(kind, name, detail)
    return title


def _unload(name: str) -> None:
    model_cache().release(name)
    st.session_state.pop(_SLOT, None)
    st.toast(f"{model_label(name)} is unloaded.", icon=":material/eject:")


def _change_device() -> None:
    with toast_errors():
        use_device(str(st.session_state["serving_device"]))
