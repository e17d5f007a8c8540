"""Gaussian encoders and indexes, loaded once, and the fields for mode and encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import streamlit as st

from entail.data.records import Corpus
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.index.gaussian import GaussianIndex
from entail.progress import ProgressCallback
from entail.registry.models import active_name
from entail.registry.roles import list_usable
from entail.runtime.models import model_cache
from entail.runtime.tasks import Task, TaskGroup
from entail.ui.components.elements import pick_view
from entail.ui.shared.active import draw_notice, pick_model
from entail.ui.shared.model_names import model_label
from entail.ui.shared.waiting import await_value

ENCODERS = TaskGroup("Gaussian encoders", failure="the Gaussian encoder could not be loaded")
"""Gaussian encoders in memory."""

_KEY = "direction_encoder"

PAIR, TABLE, SEARCH = "pair", "table", "search"
MODES = {PAIR: "Two sentences", TABLE: "Table", SEARCH: "Search"}


def gaussian_names() -> dict[str, str | None]:
    """Return the available Gaussian encoders with their revisions, the active one first."""
    revisions = list_usable("direction")
    usual = active_name("direction", revisions)
    return {name: revisions[name] for name in sorted(revisions, key=lambda name: (name != usual, name))}


def take_encoder(name: str, revision: str | None, *, wait: float = 2.5) -> Task[GaussianEncoder]:
    """Return the task that loads an encoder of `gaussian_names`, once a process and revision."""

    def make(report: ProgressCallback) -> GaussianEncoder:
        encoder = GaussianEncoder(model_cache().encoder(name))
        encoder.load()
        return encoder

    return ENCODERS.get_or_start((name, revision), make, wait=wait)


def take_index(encoder: GaussianEncoder, corpus: Corpus) -> Task[GaussianIndex]:
    """Return the task that builds the index of a corpus."""
    return cast("Task[GaussianIndex]", model_cache().get_or_start(encoder.name, corpus))


@dataclass(frozen=True)
class ChosenEncoder:
    """A Gaussian encoder that is loaded where it is needed."""

    name: str
    revision: str | None

    def load(self) -> GaussianEncoder | None:
        """Return the loaded encoder; draw the progress and return None while it is loaded."""
        return await_value(take_encoder(self.name, self.revision), waiting="Loading the encoder …")


def pick_mode() -> tuple[str, ChosenEncoder] | None:
    """Draw the fields; return mode and encoder, None without a Gaussian encoder."""
    names = gaussian_names()
    if not names:
        st.info(
            "No Gaussian encoder yet. Train one with the method GaussCSE or `entail train gausscse`, or "
            "download one on the Models page.",
            icon=":material/model_training:",
        )
        st.page_link("pages/Models.py", label="Models", icon=":material/model_training:")
        return None
    draw_notice("direction")
    pick_model("direction", _KEY, names)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        mode = pick_view("Mode", list(MODES), default=PAIR, format_func=MODES.get, key="direction_mode")
    name = right.selectbox(
        "Encoder",
        list(names),
        format_func=model_label,
        key=_KEY,
        help="Gaussian encoders only: others have no direction.",
    )
    return mode, ChosenEncoder(name, names[name])
