"""Training view of the Models page: jobs, and the form of a new training."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from entail.encoders.catalogue import resolve
from entail.encoders.device import list_devices
from entail.errors import EntailError
from entail.jobs.record import Job
from entail.progress import ProgressCallback
from entail.registry.models import active
from entail.runtime.tasks import TaskGroup
from entail.training.fields import values_of
from entail.training.method import DECISIONS, Method, Preview, broken_methods, methods
from entail.trees.review.decisions import free_name, propose_name, read_source
from entail.trees.store.authors import is_signed_in
from entail.ui.components.elements import show_errors
from entail.ui.frame.author import ask_name
from entail.ui.models.data import SAME, SAMPLE, DataChoice, draw_data
from entail.ui.models.job import draw_job
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.form import draw_settings, refuse_paths, setting_label
from entail.ui.shared.job_list import NEW, draw_jobs, open_job
from entail.ui.shared.resources import Workspace, jobs
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_result, start_task

_PREVIEWS = TaskGroup("training previews", failure="the training data could not be read")
_STARTS = TaskGroup("training starts", failure="the training could not be queued")
_STARTED = "training_start"
_LIKE, _DEFAULT = "like", "default"
_PRESETS = {"paper": "As in the paper", "decisions": "For few decisions", SAMPLE: "Quick, for the sample"}


def draw_training(shared: Workspace, author: str | None) -> None:
    """Draw the job in the address, the form of a new training (`job=new`), or all jobs."""
    _open_started()
    job = st.query_params.get("job")
    if job and job != NEW:
        draw_job(job, author)
        return
    if is_locked_in_demo("nothing can be trained"):
        draw_jobs()
        return
    has_jobs = bool(jobs().jobs() or jobs().unreadable())
    if job != NEW and has_jobs:
        st.button(
            "New training",
            icon=":material/add:",
            type="primary",
            on_click=open_job,
            args=(NEW,),
            key="new_training",
        )
        draw_jobs()
        return
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown("#### New training", width="content")
        if has_jobs:
            st.button("All jobs", icon=":material/list:", type="tertiary", on_click=open_job, args=(None,))
    if not has_jobs:
        st.caption("A training runs outside the app, also when this page is closed.")
    draw_form(shared, author)


def draw_form(shared: Workspace, author: str | None) -> None:
    """Draw the form of a new training: method, data, settings, preview and start."""
    available_methods = methods()
    for name, reason in broken_methods().items():
        st.warning(label(f"The method {name} cannot be loaded: {reason}"), icon=":material/extension_off:")
    like = None
    with show_errors():
        like = jobs().job(st.query_params["like"]) if "like" in st.query_params else None
    if like is not None and like.spec.method not in available_methods:
        st.warning(label(f"{like.name} was trained by {like.spec.method}, which is not installed."))
        like = None
    first = like.spec.method if like else next(iter(available_methods))
    name = st.selectbox(
        "Method",
        list(available_methods),
        index=list(available_methods).index(first),
        format_func=lambda name: available_methods[name].title or name,
        key=f"method-{like.id if like else ''}",
    )
    method, like = available_methods[name], like if like and like.spec.method == name else None
    st.markdown("##### Data")
    choice = source = None
    with show_errors():
        choice = draw_data(shared, method, like=like)
        if choice and choice.kind != SAME:
            refuse_paths(choice.values)
        source = method.make_source(choice.values) if choice else None
    st.markdown("##### Settings")
    config = _draw_config(method, choice, like)
    if source is not None and config is not None:
        draw_preview(method, source, config, shared.viewer)
    st.markdown("##### Start")
    _draw_start(method, choice, source, config, author)


def _draw_config(method: Method, choice: DataChoice | None, like: Job | None) -> Any:
    """Draw the settings; return the configuration, None with an error if it is invalid."""
    labels = {_LIKE: f"As in {like.name}"} if like else {}
    labels |= {_DEFAULT: "Default"} | {
        name: _PRESETS.get(name, setting_label(name)) for name in method.presets
    }
    kind, names = choice.kind if choice else "", list(labels)
    is_usual = kind in (DECISIONS, SAMPLE) and like is None and kind in method.presets
    preset = names[0]
    if len(names) > 1:
        preset = st.selectbox(
            "Preset",
            names,
            index=names.index(kind) if is_usual else 0,
            format_func=labels.__getitem__,
            key=f"begin-{method.name}-{kind}-{like.id if like else ''}",
            help="Sets the initial values of the fields below.",
        )
    begin: Mapping[str, object] = {}
    if like and preset == _LIKE:
        begin = like.spec.config
    elif preset == kind == DECISIONS and is_usual and choice and method.for_decisions is not None:
        begin = values_of(method.for_decisions(**_start_of(choice.corpus)))
    elif preset in method.presets:
        begin = values_of(method.presets[preset])
    problem = st.container()
    try:
        key = f"set-{method.name}-{preset}{begin.get('initial') or ''}-{like.id if like else ''}"
        values = draw_settings(method, begin, key=key)
        refuse_paths(values, existing_values=begin)
        return method.make_config(values)
    except (EntailError, TypeError, ValueError) as error:
        prefix = "" if isinstance(error, EntailError) else "These settings are not valid: "
        name, colon, rest = str(error).partition(": ")
        words = f"{setting_label(name)}: {rest}" if colon and name.isidentifier() else f"{prefix}{error}"
        problem.error(label(words), icon=":material/error:")
        return None


def _start_of(corpus: str | None) -> dict[str, str]:
    """Return base and adapter of the active retriever, if a training can go on from its query tower."""
    with suppress(EntailError):
        entry = resolve(active(corpus).encoder)
        if entry.base is not None and entry.towers != "siamese":
            return {"base": entry.base.name, "initial": entry.name}
    return {}


def draw_preview(
    method: Method,
    source: Any,
    config: Any,
    viewer: str,
) -> None:
    """Draw the preview button, and the samples of these settings once they are read."""
    if method.preview is None:
        return
    make, slot = method.preview, "training_preview"
    inputs = f"{method.name} {source!r} {config!r} {viewer} {is_signed_in(viewer)}"
    if st.button("Preview data", icon=":material/visibility:", key="preview_training"):
        read = partial(read_source, source, viewer=viewer)
        start_task(_PREVIEWS, inputs, lambda report: make(read(), config), slot=slot)
    preview = draw_result(_PREVIEWS, inputs, Preview, waiting="Reading the data …", slot=slot)
    if preview is not None:
        _draw_preview(preview)


def _draw_preview(preview: Preview) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, gap="large"):
            for name, number in preview.counts.items():
                st.metric(setting_label(name), f"{number:,}", width="content")
        for reason, number in preview.left_out.items():
            st.caption(f":material/filter_alt_off: Skipped: {number:,} {label(reason)}.")
        if not preview.rows:
            return
        names = preview.header or tuple(map(str, range(1, len(preview.rows[0]) + 1)))
        # Trailing spaces distinguish equal column names.
        columns = [name + " " * names[:index].count(name) for index, name in enumerate(names)]
        st.dataframe(pd.DataFrame(list(preview.rows), columns=columns), hide_index=True, height=260)
        st.caption(f"The first {len(preview.rows):,} pairs.")


def _draw_start(
    method: Method,
    choice: DataChoice | None,
    source: Any,
    config: Any,
    author: str | None,
) -> None:
    cells = st.columns([3, 2], vertical_alignment="bottom")
    started = int(st.session_state.get("trainings_begun", 0))
    corpus = choice.corpus if choice and choice.kind == DECISIONS else None
    names = jobs().names_taken()
    name = cells[0].text_input(
        "Model name",
        value=propose_name(corpus, names) if corpus is not None else free_name(method.name, names),
        max_chars=80,
        key=f"name-{method.name}-{corpus}-{started}",
        help="Name of the new folder under models/.",
    )
    device = None
    if len(devices := list_devices()) > 1:
        device = cells[1].selectbox(
            "Device",
            [None, *devices],
            format_func=lambda name: name.replace("cuda:", "GPU ") if name else "Default of the worker",
            key="training_device",
        )
    if waiting := sum(1 for job in jobs().jobs() if job.open):
        st.caption(f":material/schedule: Jobs before it in the queue: {waiting}.")
    if author is None:
        ask_name("training")
    ready = author is not None and source is not None and config is not None
    inputs, queue = f"{name} {device} {method.name} {source!r} {config!r}", jobs()

    def submit(report: ProgressCallback) -> Job:
        assert choice is not None
        return queue.submit(
            method.name,
            config,
            source,
            name=name.strip(),
            by=author or "",
            device=device,
            about=choice.about,
            progress=report,
        )

    if st.button("Start training", type="primary", icon=":material/play_arrow:", disabled=not ready):
        start_task(_STARTS, inputs, submit, slot=_STARTED)
    if draw_result(_STARTS, inputs, Job, waiting="Checking the data …", slot=_STARTED) is not None:
        st.rerun()


def _open_started() -> None:
    """Open the job that this session's start has queued meanwhile."""
    inputs = st.session_state.get(_STARTED)
    task = _STARTS.peek(inputs)
    if task is not None and isinstance(task.value, Job):
        _STARTS.drop(inputs)
        st.session_state["trainings_begun"] = st.session_state.get("trainings_begun", 0) + 1
        open_job(task.value.id)
