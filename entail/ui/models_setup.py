"""A training as it is set up: method, data, settings, name, and Start."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import streamlit as st

from entail.errors import EntailError
from entail.jobs.fields import values_of
from entail.jobs.method import Method, broken_methods, methods
from entail.jobs.record import Job
from entail.trees.learning import name_for
from entail.ui.author import asks_who
from entail.ui.models_data import DECISIONS, Chosen, draw_data
from entail.ui.models_form import draw_settings
from entail.ui.models_jobs import go
from entail.ui.models_preview import draw_preview
from entail.ui.resources import Workspace, jobs
from entail.ui.words import label

_DEFAULTS = "Defaults"
_DEVICES = {"": "As the worker is set", "cpu": "CPU", "cuda": "GPU (CUDA)"}


def draw_setup(shared: Workspace, author: str | None) -> None:
    """Draw everything that a training needs to be told."""
    like = _like()
    known = methods()
    for name, why in broken_methods().items():
        st.warning(label(f"The method {name} cannot be loaded: {why}"), icon=":material/extension_off:")
    if like is not None and like.spec.method not in known:
        st.warning(
            label(f"{like.name} was trained by {like.spec.method}, a method that is not here any more.")
        )
        like = None
    first = like.spec.method if like else next(iter(known))
    name = st.selectbox(
        "Method",
        list(known),
        index=list(known).index(first),
        format_func=lambda name: known[name].title or name,
        key=f"method-{like.id if like else ''}",
    )
    how = known[name]
    st.markdown("##### What it learns from")
    try:
        chosen = draw_data(shared, how, like=like if like and like.spec.method == name else None)
        source = how.reading(chosen.values) if chosen else None
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
        chosen = source = None
    st.markdown("##### Settings")
    config = _draw_config(how, chosen, like if like and like.spec.method == name else None)
    if source is not None and config is not None:
        draw_preview(how, source, config)
    st.markdown("##### Start")
    _draw_start(how, chosen, source, config, author)


def begins(how: Method, like: Job | None) -> dict[str, Mapping[str, object]]:
    """Return what the settings can begin with: title -> values beside the defaults."""
    found: dict[str, Mapping[str, object]] = {}
    if like is not None:
        found[f"As for {like.name}"] = like.spec.config
    found |= {title: values_of(config) for title, config in how.presets.items()}
    return found or {_DEFAULTS: {}}


def free_name(how: Method, corpus: str | None, taken: Collection[str]) -> str:
    """Return a name that is free: after the corpus, or after the method.

    >>> from entail.jobs.method import method
    >>> free_name(method("aeenc"), None, {"aeenc-1"})
    'aeenc-2'
    """
    if corpus is not None:
        return name_for(corpus, taken)
    used, number = {name.lower() for name in taken}, 1
    while f"{how.name}-{number}" in used:
        number += 1
    return f"{how.name}-{number}"


def _like() -> Job | None:
    """Return the job that the address names as a pattern."""
    try:
        return jobs().job(st.query_params["like"]) if "like" in st.query_params else None
    except EntailError as error:
        st.warning(label(str(error)), icon=":material/warning:")
        return None


def _draw_config(how: Method, chosen: Chosen | None, like: Job | None) -> Any:  # noqa: ANN401 - the method's
    """Draw the settings; return the configuration, None, explained, where it cannot be."""
    beginnings = begins(how, like)
    kind = chosen.kind if chosen else ""
    titles = list(beginnings)
    usual = how.for_decisions if kind == DECISIONS and like is None else None
    begun = usual if usual in beginnings else titles[0]
    if len(titles) > 1:
        begun = st.segmented_control(
            "Begin with",
            titles,
            default=begun,
            required=True,
            key=f"begin-{how.name}-{kind}-{like.id if like else ''}",
            help="What the fields below say before you change them.",
        )
    problem = st.container()
    values = draw_settings(
        how, beginnings[begun], key=f"set-{how.name}-{titles.index(begun)}-{like.id if like else ''}"
    )
    try:
        return how.configured(values)
    except EntailError as error:
        problem.error(label(str(error)), icon=":material/error:")
    except (TypeError, ValueError) as error:
        problem.error(label(f"These settings do not go together: {error}"), icon=":material/error:")
    return None


def _draw_start(
    how: Method,
    chosen: Chosen | None,
    source: Any,  # noqa: ANN401 - the method's own
    config: Any,  # noqa: ANN401 - the method's own
    author: str | None,
) -> None:
    all_jobs = jobs()
    cells = st.columns([3, 2], vertical_alignment="bottom")
    begun = int(st.session_state.get("trainings_begun", 0))
    taken = all_jobs.names_taken()
    corpus = chosen.corpus if chosen and chosen.kind == DECISIONS else None
    name = cells[0].text_input(
        "Name of the encoder",
        value=free_name(how, corpus, taken),
        max_chars=80,
        key=f"name-{how.name}-{corpus}-{begun}",
        help="A new folder under models/. It stands for this one encoder for good.",
    )
    device = cells[1].selectbox(
        "Where", list(_DEVICES), format_func=_DEVICES.__getitem__, key="training_device"
    )
    waiting = sum(1 for job in all_jobs.jobs() if job.open)
    if waiting:
        ahead = "one job" if waiting == 1 else f"{waiting} jobs"
        st.caption(f":material/schedule: It will wait for {ahead} before it.")
    if author is None:
        st.info(asks_who(), icon=":material/person:")
    ready = author is not None and source is not None and config is not None
    if st.button("Start training", type="primary", icon=":material/play_arrow:", disabled=not ready):
        assert chosen is not None
        try:
            job = all_jobs.submit(
                how.name,
                config,
                source,
                name=name.strip(),
                by=str(author),
                device=device or None,
                about=chosen.about,
            )
        except EntailError as error:
            st.error(label(str(error)), icon=":material/error:")
            return
        st.session_state["trainings_begun"] = begun + 1
        go(job.id)
        st.rerun()
