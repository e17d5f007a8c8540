"""One encoder on the Models page: card and figures."""

from __future__ import annotations

import streamlit as st

from entail.errors import EncoderError
from entail.operations.encoders import EncoderSummary, card_text
from entail.runtime.tasks import TaskGroup
from entail.training.cards.markdown import readable_card
from entail.training.cards.template import model_card
from entail.ui.components.elements import draw_table
from entail.ui.shared.text import label

ENCODER_TASKS = TaskGroup("encoder tasks", failure="the task failed")
"""Encoders compared and promoted."""


def draw_figures(encoder: EncoderSummary) -> None:
    """Draw the figures of an encoder in a table."""
    if not encoder.figures:
        st.info(
            "No figures yet. Measure it with `entail evaluate nli`, also with `--direction`, and add the "
            "figures to its card with `entail card --results`."
            if encoder.entry.gaussian is not None
            else "No figures yet. Compare it under “Promote”, or on the Compare page.",
            icon=":material/query_stats:",
        )
        return
    share = st.column_config.NumberColumn(format="%.3f")
    draw_table(
        [
            {
                "task": figure.task,
                "measure": figure.measure,
                "value": figure.value,
                "on": figure.data,
                "simplest rival": figure.rival,
                "of the rival": figure.rival_value,
                "from": source,
            }
            for source, figure in encoder.figures
        ],
        placeholder="",
        column_config={"value": share, "of the rival": share},
        key=f"figures-{encoder.entry.revision}",
    )


def draw_card(encoder: EncoderSummary) -> None:
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
