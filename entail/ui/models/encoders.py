"""Installed models on the Models page: one table, the selected model, and the active models."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from entail.data.reading import read_text
from entail.encoders.catalogue import EncoderEntry, catalogue, model_folder
from entail.errors import EncoderError, EntailError, FormatError
from entail.registry.models import active
from entail.registry.pointers import current_pointer
from entail.registry.roles import ROLES, list_usable
from entail.training.cards.markdown import readable_card
from entail.training.cards.metadata import ModelFacts, read_facts
from entail.training.cards.template import model_card
from entail.training.method import Role
from entail.ui.components.elements import draw_table, pick_view, show_errors
from entail.ui.models.promotion import DEFAULT, draw_active_models, draw_notice, draw_promotion
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label

SELECTED = "models_encoder"
"""Session key of the selected model."""

INSTALLED = "Installed"
"""Name of this view."""

_VIEWS = ("Card", "Promote")
_ROWS_SHOWN = 10
_DIGEST = re.compile(r" \([0-9a-f]{12}\)")
_FIRST_MEASURES = ("MAP", "MRR", "accuracy", "accuracy of direction", "AUROC, exchanged", "F1")


@dataclass(frozen=True)
class _Model:
    """An installed model, its role, and its revision where it can be promoted; `entry` of an encoder."""

    name: str
    role: Role
    revision: str
    entry: EncoderEntry | None = None

    @property
    def path(self) -> Path | None:
        """Its folder."""
        return self.entry.path if self.entry is not None else model_folder(self.name)

    @property
    def problem(self) -> str | None:
        """Reason why it cannot be loaded."""
        return self.entry.problem if self.entry is not None else None


def open_encoder(name: str) -> None:
    """Show a model on the next run of the Models page; a click handler of other views."""
    st.session_state["models_view"] = INSTALLED
    st.session_state[SELECTED] = name
    st.session_state["models_encoder_view"] = "Card"


def draw_encoders(shared: Workspace, author: str | None) -> None:
    """Draw the installed models, the selected one, and the active models."""
    linked = st.query_params.pop("candidate", None)
    uses = _uses_by_model(info.name for info in shared.corpora.corpora())
    models = _list_models(uses)
    if linked in models:
        st.session_state[SELECTED], st.session_state["models_encoder_view"] = linked, "Promote"
    if st.session_state.get(SELECTED) not in models:  # on the first run, or after a deletion
        st.session_state[SELECTED] = next(iter(models))
    draw_notice()
    draw_table(
        pd.DataFrame([_cells(model, uses.get(model.name, ())) for model in models.values()]),
        height="content" if len(models) <= _ROWS_SHOWN else 36 * (_ROWS_SHOWN + 1),
        column_config={
            "score": st.column_config.NumberColumn(format="%.3f", help="First figure on the model's card."),
            "simple rule": st.column_config.NumberColumn(
                format="%.3f", help="Score of the simplest rival on the same data."
            ),
        },
        placeholder="",
        key="models_list",
    )
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    left.selectbox("Model", list(models), format_func=model_label, key=SELECTED, persist_state="session")
    with right:
        view = pick_view(
            "Details", _VIEWS, default="Card", key="models_encoder_view", persist_state="session"
        )
    with st.container(border=True), show_errors():
        _draw_model(shared, author, models[str(st.session_state[SELECTED])], view)
    with show_errors():
        draw_active_models(shared, author)


def _list_models(uses: Iterable[str]) -> dict[str, _Model]:
    """Return the models by name: encoders, then the others by role; with those on the Hub that are active."""
    entries = {entry.name: entry for entry in catalogue()}
    entries |= {name: EncoderEntry(name, "hub") for name in uses if name not in entries and "/" in name}
    models = {}
    for name, entry in entries.items():
        usable = entry.problem is None and entry.path is not None
        role: Role = "direction" if entry.gaussian is not None else "retriever"
        models[name] = _Model(name, role, (entry.revision or "") if usable else "", entry)
    for role, record in ROLES.items():
        if record.method:
            models |= {name: _Model(name, role, revision) for name, revision in list_usable(role).items()}
    return models


def _uses_by_model(corpora: Iterable[str]) -> Mapping[str, list[str]]:
    """Return the scopes in which each model is active."""
    uses: dict[str, list[str]] = {}
    with contextlib.suppress(EntailError):  # the page shows this error with the active models
        own = {name: active(name).encoder for name in corpora if current_pointer(name) is not None}
        for name, used in [(DEFAULT if own else "all corpora", active().encoder), *own.items()]:
            uses.setdefault(used, []).append(name)
        for role in ROLES:
            if role != "retriever" and (used := active(role=role).encoder):
                uses.setdefault(used, []).append("all corpora")
    return uses


def _facts(model: _Model) -> ModelFacts | None:
    if model.path is not None and model.problem is None:
        with contextlib.suppress(EncoderError, OSError):
            return read_facts(model.path)
    return None


def _cells(model: _Model, uses: Collection[str]) -> dict[str, Any]:
    facts = _facts(model)
    entry = model.entry
    figures = [figure for figure in facts.figures if figure.measure in _FIRST_MEASURES] if facts else []
    task = ROLES[model.role].task_of_figures
    first = next(iter(sorted(figures, key=lambda figure: figure.task != task)), None)
    base = entry.base if entry is not None else facts.base if facts is not None else None
    return {
        "model": model_label(model.name),
        "role": ROLES[model.role].title,
        "state": "cannot be loaded" if model.problem else f"active for {', '.join(uses)}" if uses else "",
        "score": first.value if first else None,
        "simple rule": first.rival_value if first else None,
        "measured on": f"{first.measure}: {_DIGEST.sub('', first.data)}" if first else "",
        "base": model_label(base.name) if base is not None else "",
        "licence": (facts.licence if facts is not None else entry.licence if entry is not None else "") or "",
        "revision": (entry.revision if entry is not None else model.revision) or "",
    }


def _draw_model(shared: Workspace, author: str | None, model: _Model, view: str) -> None:
    if model.problem is not None:
        st.error(f"It cannot be loaded: {label(model.problem)}", icon=":material/gpp_bad:")
        st.caption("For safety, only safetensors are loaded, and no code of a model is run.")
    if view == "Promote":
        draw_promotion(shared, author, model.name, model.revision, model.role)
        return
    text = ""
    if model.path is not None:
        with contextlib.suppress(FormatError):
            text = read_text(model.path / "README.md")
        if not text and _facts(model) is not None:
            text = model_card(model.path)
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
