"""One encoder on the Models page: description, figures and card."""

from __future__ import annotations

import streamlit as st

from entail.encoders.catalogue import EncoderEntry
from entail.errors import EncoderError
from entail.operations.encoders import EncoderSummary, card_text
from entail.operations.storage import in_words
from entail.runtime.tasks import TaskGroup
from entail.training.cards.markdown import readable_card
from entail.training.cards.template import model_card
from entail.ui.components.elements import draw_table
from entail.ui.shared.text import label

ENCODER_TASKS = TaskGroup("encoder tasks", failure="the task failed")
"""Encoders compared and promoted."""

_TOWERS = {
    "siamese": "one tower for claims and premises",
    "single": "trained tower for claims, base for premises: it shares the base's index",
    "dual": "a trained tower each for claims and premises",
}
_KINDS = {"packaged": "packaged with entail", "folder": "folder under models/", "hub": "Hugging Face Hub"}
_COUNTS = {"queries": "claims", "positives": "positive premises", "negatives": "negative premises"}


def draw_about(encoder: EncoderSummary) -> None:
    """Draw the description of an encoder."""
    entry, facts = encoder.entry, encoder.facts
    size = f", {in_words(encoder.size)} on disk" if encoder.size is not None else ""
    rows = {
        "Location": f"{_KINDS[entry.kind]}{size}",
        "Method": encoder.method,
        "Base": f"{entry.base.name} ({entry.base.revision})" if entry.base else "none: a whole model",
        "Towers": _TOWERS[entry.towers] if entry.base else "one model for claims and premises",
        "Output": _output(entry),
        "Training data": _training_data(encoder),
        "Licence": encoder.licence or "not stated",
        "Active for": ", ".join(encoder.active_for) or "no corpus",
        "Revision": entry.revision or "unknown before the download",
    }
    st.markdown(
        f"| {label(encoder.name)} | |\n|---|---|\n"
        + "\n".join(f"| **{name}** | {label(value)} |" for name, value in rows.items())
    )
    if facts is not None and facts.is_adapter:
        st.caption("An adapter: all encoders on one base share its weights in memory.")


def _output(entry: EncoderEntry) -> str:
    d = entry.space_dimension
    if d is None:
        return "known once the model is loaded"
    if entry.gaussian is None:
        return f"a vector of {d:,} dimensions"
    return f"a Gaussian of {d:,} dimensions: {d:,} means and {d:,} log variances"


def _training_data(encoder: EncoderSummary) -> str:
    if encoder.training_data is None:
        return "not recorded"
    names = encoder.training_data
    text = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    counts = encoder.facts.record["trained_on"] if encoder.facts is not None else {}
    sizes = [
        f"{counts[name]:,} {unit}" for name, unit in _COUNTS.items() if isinstance(counts.get(name), int)
    ]
    return text + (f" ({', '.join(sizes)})" if sizes else "")


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
