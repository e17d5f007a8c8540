"""What the Direction page does, and with which encoder of Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.ui.authoring import draw_progress
from entail.ui.direction_encoder import gaussian_names, take_encoder
from entail.ui.in_use import draw_notice, follow

if TYPE_CHECKING:
    from entail.encoders.gaussian import GaussianEncoder

_KEY = "direction_encoder"
PAIR, TABLE, SEARCH = "pair", "table", "search"
MODES = {PAIR: "Two sentences", TABLE: "A table", SEARCH: "Search by direction"}


@dataclass(frozen=True)
class Choice:
    """What the fields at the top say.

    Attributes:
        mode: One of `MODES`.
        encoder: The encoder of Gaussians.
    """

    mode: str
    encoder: GaussianEncoder


def pick() -> Choice | None:
    """Draw the fields; None where no encoder of Gaussians is here, or none is loaded yet, which is said."""
    names = gaussian_names()
    if not names:
        st.info(
            "No encoder of Gaussians is here yet, and an encoder of points cannot tell a direction: the "
            "similarity of two points is the same both ways. Train one on the Models page by the method "
            "GaussCSE, or bring one from the Hub there; on the command line `entail train gausscse` does it.",
            icon=":material/model_training:",
        )
        st.page_link("pages/Models.py", label="Models", icon=":material/model_training:")
        return None
    draw_notice("direction")
    usual = follow("direction", _KEY, names)
    if st.session_state.get(_KEY, usual) not in names:  # it is gone, and no field can stand at it
        st.session_state[_KEY] = usual
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        mode = st.segmented_control(
            "What to do",
            list(MODES),
            default=PAIR,
            format_func=MODES.__getitem__,
            key="direction_mode",
            required=True,
            label_visibility="collapsed",
        )
    with right:
        name = st.selectbox(
            "Encoder", list(names), key=_KEY, help="Those that make Gaussians; others cannot."
        )
    work = take_encoder(name, names[name])
    if work.value is None:
        draw_progress(work, waiting="Loading the encoder …")
        return None
    return Choice(mode or PAIR, work.value)
