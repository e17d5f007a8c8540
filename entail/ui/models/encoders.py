"""Encoders view of the Models page: active models, available encoders, and the selected one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import EncoderError
from entail.hub.repository import check_repo, check_revision
from entail.operations.encoders import EncoderSummary, list_encoders
from entail.operations.storage import in_words
from entail.runtime.models import model_cache
from entail.training.method import Role
from entail.ui.components.elements import draw_table, pick_view, show_errors
from entail.ui.frame.author import lacks_name
from entail.ui.models.details import ENCODER_TASKS, draw_about, draw_card, draw_figures, draw_memory
from entail.ui.models.promotion import draw_active_models, draw_promotion
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace, jobs
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_result

SELECTED = "models_encoder"
"""Session key of the selected encoder."""

_LINKED = "models_linked"
_VIEWS = ("About", "Figures", "Card", "Memory and speed", "Promote")
_ROWS_SHOWN = 10


def open_encoder(name: str, view: str = "About") -> None:
    """Show an encoder on the next run of the Models page; a click handler of other views."""
    st.session_state["models_view"] = "Encoders"
    st.session_state[SELECTED] = name
    st.session_state["models_encoder_view"] = view


def draw_encoders(shared: Workspace, author: str | None) -> None:
    """Draw the active models, the available encoders, and the selected one.

    An encoder that a link from its training leads to comes first, until another one is selected.
    """
    linked = st.query_params.pop("candidate", None)
    corpora = [info.name for info in shared.corpora.corpora()]
    encoders = {encoder.name: encoder for encoder in list_encoders(corpora, jobs(), extra=_fetched())}
    if linked in encoders:
        st.session_state[SELECTED], st.session_state["models_encoder_view"] = linked, "Promote"
        st.session_state[_LINKED] = linked
    if st.session_state.get(SELECTED) not in encoders:  # on the first run, or after a deletion
        st.session_state[SELECTED] = next(iter(encoders))
    is_linked = st.session_state.get(_LINKED) == st.session_state[SELECTED]
    if is_linked:
        _draw_selected(shared, author, encoders)
    draw_active_models(shared, author, linked=linked)
    st.markdown("##### Available encoders")
    _draw_list(list(encoders.values()), selected=str(st.session_state[SELECTED]))
    _draw_fetch()
    if not is_linked:
        _draw_selected(shared, author, encoders)


def _draw_selected(shared: Workspace, author: str | None, encoders: Mapping[str, EncoderSummary]) -> None:
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    left.selectbox("Encoder", list(encoders), format_func=model_label, key=SELECTED, persist_state="session")
    with right:
        view = pick_view(
            "Details", _VIEWS, default="About", key="models_encoder_view", persist_state="session"
        )
    with st.container(border=True), show_errors():
        _draw_encoder(shared, author, encoders[str(st.session_state[SELECTED])], view)


def _draw_encoder(shared: Workspace, author: str | None, encoder: EncoderSummary, view: str) -> None:
    entry = encoder.entry
    if entry.problem is not None:
        st.error(f"It cannot be loaded: {label(entry.problem)}", icon=":material/gpp_bad:")
        st.caption("For safety, only safetensors are loaded, and no code of a model is run.")
    if view == "Figures":
        draw_figures(encoder)
    elif view == "Card":
        draw_card(encoder)
    elif view == "Memory and speed":
        draw_memory(encoder)
    elif view == "Promote":
        usable = entry.problem is None and entry.path is not None
        role: Role = "direction" if entry.gaussian is not None else "retriever"
        draw_promotion(shared, author, entry.name, entry.revision if usable else None, role, entry=entry)
    else:
        draw_about(encoder)


def _draw_list(encoders: Sequence[EncoderSummary], *, selected: str) -> None:
    """Draw the encoders as a table, a row of which selects one."""
    row = next((number for number, encoder in enumerate(encoders) if encoder.name == selected), 0)
    # The key holds the rows: a click never hits a row that was another one before.
    key = (
        "models_list-"
        f"{hash((selected, tuple((encoder.name, encoder.entry.revision) for encoder in encoders)))}"
    )

    def select() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        if rows and rows[0] < len(encoders):
            st.session_state[SELECTED] = encoders[rows[0]].name

    number = st.column_config.NumberColumn
    draw_table(
        pd.DataFrame([_cells(encoder) for encoder in encoders]),
        height="content" if len(encoders) <= _ROWS_SHOWN else 36 * (_ROWS_SHOWN + 1),
        column_config={
            "MAP": number(format="%.3f", help="MAP without the claim itself, on the split in the same row."),
            "MAP, paper": number(
                format="%.3f", help="MAP as in the AE-Enc paper: the claim itself is a candidate."
            ),
            "dimension": number(format="%d", help="Dimension of a vector, or of a Gaussian's mean."),
        },
        on_select=select,
        placeholder="",
        selection_mode="single-row-required",
        selection_default={"selection": {"rows": [row]}},
        key=key,
    )


def _cells(encoder: EncoderSummary) -> dict[str, Any]:
    entry, first = encoder.entry, encoder.figures[0] if encoder.figures else None
    in_memory = model_cache().loaded(encoder.name) is not None
    return {
        "encoder": model_label(encoder.name),
        "state": "refused" if entry.problem else "in memory" if in_memory else "",
        "active for": ", ".join(encoder.active_for),
        "method": encoder.method,
        "base": entry.base.name if entry.base else "",
        "dimension": entry.space_dimension,
        "on disk": in_words(encoder.size) if encoder.size is not None else "",
        "MAP": first.figure("MAP", "query_excluded") if first else None,
        "MAP, paper": first.figure("MAP", "paper") if first else None,
        "measured on": first.split if first else "",
        "training data": ", ".join(encoder.training_data or ()),
        "licence": encoder.licence,
        "revision": entry.revision or "",
    }


def _draw_fetch() -> None:
    """Draw the field for a model of the Hub, and the progress of its download."""
    with st.expander("Add from the Hugging Face Hub", icon=":material/cloud_download:"):
        if is_locked_in_demo("nothing can be downloaded from the Hub"):
            return
        if lacks_name("fetch"):
            return
        with st.form("models_hub_form", border=False):
            id_ = st.text_input(
                "Hub id",
                placeholder="organisation/model, or organisation/model@revision",
                key="models_hub_id",
                max_chars=200,
            )
            submitted = st.form_submit_button("Download", icon=":material/download:")
        st.caption("Downloads into the Hub's cache. To keep a copy under models/, pull it in the view “Hub”.")
        if submitted:
            with show_errors():
                _fetch(id_.strip())
        for name in _requested():
            draw_result(ENCODER_TASKS, ("fetch", name), EncoderEntry, waiting=f"Downloading {label(name)} …")


def _fetch(name: str) -> None:
    """Start the download of a Hub id and draw the page again; local names and paths are refused.

    Raises:
        EncoderError: If it is no Hub id.
    """
    repo, at, revision = name.partition("@")
    check_repo(repo)
    if at:
        check_revision(revision)
    entry = resolve(name)
    if entry.kind != "hub":
        raise EncoderError(f"{name!r} is installed already: select it in the list")
    if entry.name not in _requested():
        _requested().append(entry.name)
    ENCODER_TASKS.get_or_start(("fetch", entry.name), lambda _: fetch(resolve(entry.name)), wait=1.0)
    st.rerun()


def _requested() -> list[str]:
    names: list[str] = st.session_state.setdefault("models_typed", [])
    return names


def _fetched() -> list[EncoderEntry]:
    tasks = [task for name in _requested() if (task := ENCODER_TASKS.peek(("fetch", name)))]
    return [task.value for task in tasks if isinstance(task.value, EncoderEntry)]
