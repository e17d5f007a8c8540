"""One encoder on the Models page: description, figures and card."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from entail.encoders.catalogue import EncoderEntry
from entail.errors import EncoderError
from entail.operations.encoders import EncoderSummary, RetrievalFigures, card_text
from entail.operations.storage import in_words
from entail.runtime.tasks import TaskGroup
from entail.training.cards.markdown import readable_card
from entail.training.cards.metrics import PairMetrics
from entail.training.cards.template import model_card
from entail.ui.components.elements import draw_table
from entail.ui.shared.text import label

ENCODER_TASKS = TaskGroup("encoder tasks", failure="the task failed")
"""Encoders compared and promoted."""

_MEASURES = ("MAP", "NDCG", "NDCG@10", "Hit@10", "Hit@50")
_PROTOCOLS = {"query_excluded": "Query excluded", "paper": "As in the paper"}
_TOWERS = {
    "siamese": "one tower for claims and premises",
    "single": "trained tower for claims, base for premises: it shares the base's index",
    "dual": "a trained tower each for claims and premises",
}
_KINDS = {"packaged": "packaged with entail", "folder": "folder under models/", "hub": "Hugging Face Hub"}
_QUESTIONS = {"nli": "entailment", "direction": "direction"}
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
    """Draw the figures of an encoder: retrieval by both protocols, and pairs of sentences."""
    pairs = encoder.facts.of_kind(PairMetrics) if encoder.facts is not None else ()
    for number, measured in enumerate(pairs):
        _draw_pairs(measured, key=f"pairs-{encoder.entry.revision}-{number}")
    if not encoder.figures and not pairs:
        st.info(
            "No figures yet. Measure it with `entail evaluate nli`, also with `--direction`, and add the "
            "figures to its card with `entail card --results`."
            if encoder.entry.gaussian is not None
            else "No figures yet. Compare it under “Promote”, or on the Compare page.",
            icon=":material/query_stats:",
        )
    for number, figures in enumerate(encoder.figures):
        _draw_retrieval(figures, key=f"known-{encoder.entry.revision}-{number}")


def _draw_pairs(measured: PairMetrics, *, key: str) -> None:
    st.markdown(f"**{label(measured.source)}**, pairs of sentences")
    rows = [
        {
            "pairs": pair_result.data,
            "task": _QUESTIONS[pair_result.question],
            "count": pair_result.n,
            "accuracy": pair_result.accuracy,
            "AUPRC": pair_result.auprc,
            "baseline": pair_result.baseline,
            "longer entailed": pair_result.longer[0] if pair_result.longer else None,
        }
        for pair_result in measured.sets
    ]
    share = st.column_config.NumberColumn
    draw_table(
        rows,
        placeholder="",
        column_config={
            "count": share(format="localized"),
            "accuracy": share(format="%.3f"),
            "AUPRC": share(format="%.3f"),
            "baseline": share(
                format="%.3f", help="Majority class; for direction, the longer sentence entails."
            ),
            "longer entailed": share(
                format="%.3f",
                help="Accuracy on pairs whose longer sentence is entailed, where length is wrong.",
            ),
        },
        key=key,
    )
    st.caption("From the model card.")


def _draw_retrieval(retrieval: RetrievalFigures, *, key: str) -> None:
    parts = [f"**{label(retrieval.split)}**"]
    parts += [f"{retrieval.queries:,} claims"] if retrieval.queries else []
    parts += [f"{retrieval.premises:,} candidates"] if retrieval.premises else []
    st.markdown(", ".join(parts))
    columns = {
        f"{title}{subset}": figures[protocol]
        for protocol, title in _PROTOCOLS.items()
        for subset, figures in (("", retrieval.figures), (", unseen claims", retrieval.unseen_figures))
        if figures.get(protocol)
    }
    measures = [name for name in _MEASURES if any(name in values for values in columns.values())]
    table = {title: [values.get(name) for name in measures] for title, values in columns.items()}
    draw_table(
        pd.DataFrame({"measure": measures, **table}),
        placeholder="",
        column_config={title: st.column_config.NumberColumn(format="%.3f") for title in columns},
        key=key,
    )
    st.caption(f"From {label(retrieval.source)}.")
    if retrieval.unseen is not None and retrieval.queries:
        st.caption(
            f":material/school: It was trained on {retrieval.queries - retrieval.unseen:,} of these claims, "
            f"so those figures are optimistic. The other {retrieval.unseen:,} are unseen."
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
