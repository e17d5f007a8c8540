"""Encoders view of the Models page: available encoders, the selected one, and the active models."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from entail.data.reading import read_text
from entail.encoders.catalogue import EncoderEntry, catalogue
from entail.errors import EncoderError, EntailError, FormatError
from entail.registry.models import active
from entail.runtime.models import model_cache
from entail.training.cards.markdown import readable_card
from entail.training.cards.metadata import ModelFacts, read_facts
from entail.training.cards.template import model_card
from entail.training.method import Role
from entail.ui.components.elements import draw_table, pick_view, show_errors
from entail.ui.models.promotion import (
    DEFAULT,
    draw_active_models,
    draw_notice,
    draw_promotion,
    draw_scorers,
)
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace
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
    ranked = _corpora_by_encoder(info.name for info in shared.corpora.corpora())
    entries = {entry.name: entry for entry in catalogue()}
    entries |= {name: EncoderEntry(name, "hub") for name in ranked if name not in entries and "/" in name}
    if linked in entries:
        st.session_state[SELECTED], st.session_state["models_encoder_view"] = linked, "Promote"
    if st.session_state.get(SELECTED) not in entries:  # on the first run, or after a deletion
        st.session_state[SELECTED] = next(iter(entries))
    draw_notice()
    st.markdown("##### Encoders")
    draw_table(
        pd.DataFrame([_cells(entry, ranked.get(entry.name, ())) for entry in entries.values()]),
        height="content" if len(entries) <= _ROWS_SHOWN else 36 * (_ROWS_SHOWN + 1),
        column_config={
            "MAP": st.column_config.NumberColumn(
                format="%.3f", help="MAP without the claim itself, on the data in the same row."
            ),
            "dimension": st.column_config.NumberColumn(
                format="%d", help="Dimension of a vector, or of a Gaussian's mean."
            ),
        },
        placeholder="",
        key="models_list",
    )
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    left.selectbox("Encoder", list(entries), format_func=model_label, key=SELECTED, persist_state="session")
    with right:
        view = pick_view(
            "Details", _VIEWS, default="Card", key="models_encoder_view", persist_state="session"
        )
    with st.container(border=True), show_errors():
        _draw_encoder(shared, author, entries[str(st.session_state[SELECTED])], view)
    with show_errors():
        draw_scorers(shared, author, linked=linked)
        draw_active_models(shared, author)


def _corpora_by_encoder(corpora: Iterable[str]) -> Mapping[str, list[str]]:
    ranked: dict[str, list[str]] = {}
    with contextlib.suppress(EntailError):  # the page shows this error with the active models
        for name in (None, *corpora):
            now = active(name)
            if name is None or (now.pointer is not None and now.pointer.corpus is not None):
                ranked.setdefault(now.encoder, []).append(name or DEFAULT)
    return ranked


def _facts(entry: EncoderEntry) -> ModelFacts | None:
    if entry.path is not None and entry.problem is None:
        with contextlib.suppress(EncoderError, OSError):
            return read_facts(entry.path)
    return None


def _cells(entry: EncoderEntry, ranked: Iterable[str]) -> dict[str, Any]:
    facts = _facts(entry)
    figures = facts.figures if facts is not None else ()
    first = next((row for row in figures if (row.task, row.measure) == ("premises", "MAP")), None)
    in_memory = model_cache().loaded(entry.name) is not None
    return {
        "encoder": model_label(entry.name),
        "state": "refused" if entry.problem else "in memory" if in_memory else "",
        "active for": ", ".join(ranked),
        "method": facts.text.title if facts is not None else entry.method,
        "base": entry.base.name if entry.base else "",
        "dimension": entry.space_dimension,
        "MAP": first.value if first else None,
        "measured on": first.data if first else "",
        "licence": (facts.licence if facts is not None else entry.licence) or "",
        "revision": entry.revision or "",
    }


def _draw_encoder(shared: Workspace, author: str | None, entry: EncoderEntry, view: str) -> None:
    if entry.problem is not None:
        st.error(f"It cannot be loaded: {label(entry.problem)}", icon=":material/gpp_bad:")
        st.caption("For safety, only safetensors are loaded, and no code of a model is run.")
    if view == "Promote":
        usable = entry.problem is None and entry.path is not None
        role: Role = "direction" if entry.gaussian is not None else "retriever"
        draw_promotion(shared, author, entry.name, entry.revision if usable else None, role)
        return
    text = ""
    if entry.path is not None:
        with contextlib.suppress(FormatError):
            text = read_text(entry.path / "README.md")
        if not text and _facts(entry) is not None:
            text = model_card(entry.path)
    if not text:
        st.info("No model card.", icon=":material/description:")
        return
    with st.container(border=True, height=560):
        # Its pictures stay links, so that the page needs no network; colours of code would be too pale.
        for number, part in enumerate(readable_card(text).split("```")):
            if number % 2:
                st.code(part.partition("\n")[2], language=None, wrap_lines=True)
            elif part.strip():
                st.markdown(part)
