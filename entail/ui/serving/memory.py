"""Memory view of the Serving page: models and indexes in memory, their device, and the active models."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from entail.encoders.device import device_name
from entail.operations.storage import in_words
from entail.registry.models import Active, active, roll_back
from entail.registry.pointers import rollback_target
from entail.registry.roles import ROLES, list_usable
from entail.runtime.memory import INDEX, JUDGE, list_devices, list_residents, load, use_device
from entail.runtime.models import model_cache
from entail.runtime.tasks import TaskGroup, finish
from entail.serving.history import Sample, Traffic
from entail.training.method import Role
from entail.ui.components.elements import draw_error, draw_table, show_errors, toast_errors
from entail.ui.serving.target import Target, is_locked
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import ago, label
from entail.ui.shared.waiting import draw_result, start_task

KINDS: Mapping[str, tuple[str, str]] = {
    "retriever": ("Retriever", "Trees, Compare, Claims, /search, /encode"),
    "direction": ("Direction", "Direction, Trees, /direction, /search"),
    "chains": ("Chains", "Chains, Trees, /chain"),
    "reranker": ("Re-ranker", "Trees, /search"),
    JUDGE: ("Judge", "Claims, Direction"),
    "steps": ("Check of steps", "Trees"),
    INDEX: ("Index", "Trees, Compare, /search"),
}
"""Kind in memory -> its name, and the pages and endpoints that it answers."""

LOADING = TaskGroup("loading", failure="the model could not be loaded")
"""Models and indexes that are loaded by a click."""

_SLOT = "serving_loading"


def draw_memory(shared: Workspace, author: str | None, target: Target) -> None:
    """Draw what is in memory; of this app also the actions, the device and the active models."""
    _draw_residents(target)
    if not target.is_own:
        return
    if not is_locked():
        _draw_actions(shared)
    st.markdown("##### Active models")
    with show_errors():
        _draw_active_models(shared, author, target)


@st.fragment(run_every=5.0)
def _draw_residents(target: Target) -> None:
    samples = target.history.samples(60)
    if target.history.error is not None:
        draw_error(target.history.error)
    rows = _resident_cells(samples[-1]) if samples else []
    if not rows:
        st.info(
            "Nothing is in memory yet. A model is loaded when it is first used.", icon=":material/memory:"
        )
        return
    draw_table(pd.DataFrame(rows), key="serving_memory")
    st.caption("A base that several models share counts in the size of each.")


def _resident_cells(sample: Sample) -> list[dict[str, Any]]:
    sizes, since, used = (
        sample.select(f"entail_model_{name}") for name in ("bytes", "loaded_seconds", "used_seconds")
    )
    rows = []
    for key, size in sorted(sizes.items(), key=lambda item: -item[1]):
        labels = dict(key)
        kind, answers = KINDS.get(labels["kind"], (labels["kind"], ""))
        rows.append(
            {
                "kind": kind,
                "name": model_label(labels["name"]),
                "corpus": labels["corpus"],
                "size": in_words(int(size)),
                "device": labels["device"],
                "loaded": _ago(since[key]),
                "last used": _ago(used[key]),
                "answers": answers,
                "revision": labels["revision"],
            }
        )
    return rows


def _ago(seconds: float) -> str:
    return ago(datetime.fromtimestamp(seconds, UTC))


def _draw_actions(shared: Workspace) -> None:
    names = {resident.name for resident in list_residents() if resident.kind != INDEX}
    loadable = _list_loadable(shared)
    left, middle, right = st.columns([4, 4, 2], gap="large")
    with left, st.container(horizontal=True, vertical_alignment="bottom"):
        selected = st.selectbox("Load or warm up", list(loadable), key="serving_load")
        st.button(
            "Load",
            icon=":material/bolt:",
            key="serving_load_button",
            on_click=start_task,
            args=(LOADING, loadable.get(selected or ""), lambda _: _load(shared, *loadable[selected])),
            kwargs={"slot": _SLOT},
            disabled=selected is None,
            help="Loads it and lets it read a text, so that the next request is answered at once.",
        )
    with middle, st.container(horizontal=True, vertical_alignment="bottom"):
        released = st.selectbox(
            "In memory", sorted(names), format_func=model_label, key="serving_release", disabled=not names
        )
        st.button(
            "Unload",
            icon=":material/eject:",
            key="serving_release_button",
            on_click=lambda: model_cache().release(str(released)),
            disabled=released is None,
            help="Frees it with its indexes. The next request loads it again.",
        )
    with right:
        devices, now = list_devices(), device_name().replace("cuda", "cuda:0").replace(":0:", ":")
        st.selectbox(
            "Device",
            devices,
            index=devices.index(now) if now in devices else 0,
            key="serving_device",
            on_change=_change_device,
            disabled=len(devices) < 2,
            help="Until the app restarts; ENTAIL_DEVICE sets it for good. Models are loaded again.",
        )
    draw_result(LOADING, st.session_state.get(_SLOT), str, waiting="Loading …", slot=_SLOT)


def _list_loadable(shared: Workspace) -> dict[str, tuple[str, str, str]]:
    """Return the installed models and the indexes of all corpora: title -> kind, name, revision or corpus."""
    models = [
        *((role, name, revision) for role in ROLES for name, revision in list_usable(role).items()),
        *((INDEX, active(info.name).encoder, info.id) for info in shared.corpora.corpora()),
    ]
    corpora = {info.id: info.name for info in shared.corpora.corpora()}
    return {
        f"{KINDS.get(kind, (kind, ''))[0]}: {corpora.get(detail, '') or model_label(name)}": (
            kind,
            name,
            detail,
        )
        for kind, name, detail in models
    }


def _load(shared: Workspace, kind: str, name: str, detail: str) -> str:
    if kind == INDEX:
        finish(model_cache().get_or_start(name, shared.corpora.corpus(detail), wait=0))
    else:
        load(kind, name, detail)
    return name


def _change_device() -> None:
    with toast_errors():
        use_device(str(st.session_state["serving_device"]))


def _draw_active_models(shared: Workspace, author: str | None, target: Target) -> None:
    """Draw the active model of each corpus and role, its traffic, and its rollback."""
    samples = target.history.samples(3_600)
    uses = _describe_uses(Traffic(samples[0], samples[-1])) if samples else {}
    rows: list[tuple[str | None, Active]]
    rows = [(info.name, active(info.name)) for info in shared.corpora.corpora()]
    rows += [(None, active())]
    rows += [(None, active(role=role)) for role in ROLES if role != "retriever"]
    with st.container(border=True):
        for corpus, now in rows:
            _draw_active(corpus, now, author, uses.get(now.encoder, "not in memory"))
    st.page_link(
        "pages/Models.py",
        label="Compare and promote another model",
        icon=":material/publish:",
        width="content",
    )


def _describe_uses(traffic: Traffic) -> dict[str, str]:
    """Return the last use of each model in memory by name, of encoders with their texts of the last hour."""
    uses = {}
    for key, used in traffic.last.select("entail_model_used_seconds").items():
        name, is_index = dict(key)["name"], dict(key)["kind"] == INDEX
        if not is_index:
            texts = traffic.count("entail_batch_texts_sum", encoder=name)
            uses[name] = f"last used {_ago(used)}" + (
                f", {texts:,.0f} texts in the last hour" if texts else ""
            )
    return uses


def _draw_active(corpus: str | None, now: Active, author: str | None, use: str) -> None:
    title, model, action = st.columns([4, 6, 3], vertical_alignment="center")
    kind = KINDS.get(now.role, (now.role, ""))[0]
    scope = corpus or ("all other corpora" if now.role == "retriever" else "")
    title.markdown(f"**{label(f'{kind}: {scope}' if scope else kind, longest=60)}**")
    model.markdown(
        f"{label(model_label(now.encoder))}  \n:gray[{use}]" if now.encoder else ":gray[none installed]"
    )
    pointer = now.pointer
    if pointer is None or pointer.corpus != corpus:
        return
    target = rollback_target(pointer)
    restored = str(target.encoder) if target is not None else "the packaged model"
    action.button(
        "Roll back",
        icon=":material/undo:",
        key=f"serving_back-{pointer.number}",
        on_click=_roll_back,
        args=(pointer.corpus, now.role, author, pointer.number),
        disabled=author is None or is_locked(),
        help=f"Restores {label(model_label(restored))} for everyone.",
    )


def _roll_back(corpus: str | None, role: Role, author: str, number: int) -> None:
    with toast_errors():
        roll_back(corpus, by=author, role=role, number=number)
        st.toast(f"Restored {label(model_label(active(corpus, role=role).encoder))}.")
