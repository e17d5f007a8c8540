"""Encoders view of the Models page: available encoders, the selected one, and the active models."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from entail.errors import EncoderError
from entail.operations.encoders import EncoderSummary, card_text, list_encoders
from entail.operations.storage import in_words
from entail.runtime.models import model_cache
from entail.training.cards.markdown import readable_card
from entail.training.cards.template import model_card
from entail.training.method import Role
from entail.ui.components.elements import draw_table, pick_view, show_errors
from entail.ui.models.promotion import draw_active_models, draw_notice, draw_promotion, draw_scorers
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace, jobs
from entail.ui.shared.text import label

SELECTED = "models_encoder"
"""Session key of the selected encoder."""

_VIEWS = ("Card", "Promote")
_ROWS_SHOWN = 10


def open_encoder(name: str) -> None:
    """Show an encoder on the next run of the Models page; a click handler of other views."""
    st.session_state["models_view"] = "Encoders"
    st.session_state[SELECTED] = name
    st.session_state["models_encoder_view"] = "Card"


def draw_encoders(shared: Workspace, author: str | None) -> None:
    """Draw the available encoders, the selected one, and the active models."""
    linked = st.query_params.pop("candidate", None)
    encoders = {
        encoder.name: encoder
        for encoder in list_encoders([info.name for info in shared.corpora.corpora()], jobs())
    }
    if linked in encoders:
        st.session_state[SELECTED], st.session_state["models_encoder_view"] = linked, "Promote"
    if st.session_state.get(SELECTED) not in encoders:  # on the first run, or after a deletion
        st.session_state[SELECTED] = next(iter(encoders))
    draw_notice()
    st.markdown("##### Encoders")
    number = st.column_config.NumberColumn
    draw_table(
        pd.DataFrame([_cells(encoder) for encoder in encoders.values()]),
        height="content" if len(encoders) <= _ROWS_SHOWN else 36 * (_ROWS_SHOWN + 1),
        column_config={
            "MAP": number(format="%.3f", help="MAP without the claim itself, on the data in the same row."),
            "dimension": number(format="%d", help="Dimension of a vector, or of a Gaussian's mean."),
        },
        placeholder="",
        key="models_list",
    )
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    left.selectbox("Encoder", list(encoders), format_func=model_label, key=SELECTED, persist_state="session")
    with right:
        view = pick_view(
            "Details", _VIEWS, default="Card", key="models_encoder_view", persist_state="session"
        )
    with st.container(border=True), show_errors():
        _draw_encoder(shared, author, encoders[str(st.session_state[SELECTED])], view)
    with show_errors():
        draw_scorers(shared, author, linked=linked)
        draw_active_models(shared, author)


def _draw_encoder(shared: Workspace, author: str | None, encoder: EncoderSummary, view: str) -> None:
    entry = encoder.entry
    if entry.problem is not None:
        st.error(f"It cannot be loaded: {label(entry.problem)}", icon=":material/gpp_bad:")
        st.caption("For safety, only safetensors are loaded, and no code of a model is run.")
    if view == "Promote":
        usable = entry.problem is None and entry.path is not None
        role: Role = "direction" if entry.gaussian is not None else "retriever"
        draw_promotion(shared, author, entry.name, entry.revision if usable else None, role)
    else:
        _draw_card(encoder)


def _draw_card(encoder: EncoderSummary) -> None:
    """Draw the card of an encoder; its pictures stay links, so that the page needs no network."""
    folder = encoder.entry.path
    text = card_text(folder) if folder is not None else ""
    if not text and folder is not None and encoder.facts is not None:
        try:
            text = model_card(folder)
        except EncoderError as error:
            st.warning(label(str(error)))
    if not text:
        st.info("No model card.", icon=":material/description:")
        return
    with st.container(border=True, height=560):
        st.markdown(readable_card(text))


def _cells(encoder: EncoderSummary) -> dict[str, Any]:
    entry, first = encoder.entry, encoder.map
    in_memory = model_cache().loaded(encoder.name) is not None
    return {
        "encoder": model_label(encoder.name),
        "state": "refused" if entry.problem else "in memory" if in_memory else "",
        "active for": ", ".join(encoder.active_for),
        "method": encoder.method,
        "base": entry.base.name if entry.base else "",
        "dimension": entry.space_dimension,
        "on disk": in_words(encoder.size) if encoder.size is not None else "",
        "MAP": first.value if first else None,
        "measured on": first.data if first else "",
        "training data": ", ".join(encoder.training_data or ()),
        "licence": encoder.licence,
        "revision": entry.revision or "",
    }
