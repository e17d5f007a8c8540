"""Search by direction over a corpus, next to cosine search."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from entail.data.text import is_blank
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.gausscse.verdict import threshold_of
from entail.runtime.models import model_cache
from entail.ui.components.elements import pick_view
from entail.ui.direction.encoder import take_index
from entail.ui.shared.model_names import model_name
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label, marked, words_of
from entail.ui.shared.waiting import draw_progress

Direction = Literal["entailing", "entailed"]
_DIRECTIONS: dict[Direction, str] = {"entailing": "Entails the query", "entailed": "Entailed by the query"}
_SHOWN = 10


def draw_search(shared: Workspace, encoder: GaussianEncoder) -> None:
    """Draw the fields and the results of both searches."""
    infos = {info.id: info for info in shared.corpora.corpora()}
    if not infos:
        st.info("No corpus yet. Upload one on the Corpora page.", icon=":material/library_add:")
        return
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    query = left.text_input(
        "Query", key="direction_query", max_chars=200_000, value="the moon reflects sunlight"
    )
    corpus_id = right.selectbox(
        "Corpus", list(infos), format_func=lambda id_: infos[id_].name, key="direction_corpus"
    )
    direction = pick_view(
        "Direction",
        list(_DIRECTIONS),
        default="entailing",
        format_func=_DIRECTIONS.get,
        key="direction_way",
    )
    if is_blank(query):
        st.info("Enter a query.", icon=":material/edit:")
        return
    corpus = shared.corpora.corpus(corpus_id, version=infos[corpus_id].version)
    by_direction = take_index(encoder, corpus)
    by_cosine = model_cache().get_or_start("minilm", corpus)
    if by_direction.value is None or by_cosine.value is None:
        draw_progress(by_direction if by_direction.value is None else by_cosine)
        return
    if encoder.cut([query])[0]:
        st.warning("The query exceeds the encoder's input and was truncated.", icon=":material/content_cut:")
    title = f"{_DIRECTIONS[direction]} ({model_name(encoder.name)})"
    sides = (
        (title, by_direction.value.search([query], k=_SHOWN, direction=direction)),
        ("Plain cosine (MiniLM)", by_cosine.value.search([query], k=_SHOWN)),
    )
    threshold, words = threshold_of(encoder.form), words_of(query)
    above = int((sides[0][1].scores[0] > threshold).sum())
    hit_sets = [frozenset(hits.positions[0].tolist()) for _, hits in sides]
    for number, (column, (title, hits)) in enumerate(zip(st.columns(2), sides, strict=True)):
        with column:
            st.markdown(f"**{label(title)}**")
            rows = zip(hits.positions[0].tolist(), hits.scores[0].tolist(), strict=True)
            for rank, (position, score) in enumerate(rows, start=1):
                if number == 0 and rank == above + 1:
                    _draw_threshold(threshold, fitted=encoder.form.threshold is not None, none=above == 0)
                also = " · in both" if position in hit_sets[1 - number] else ""
                st.html(
                    f'<div class="entail-sentence">{rank}. {marked(corpus.texts[position], words)} '
                    f'<span class="entail-quiet">{score:.3f}{also}</span></div>'
                )


def _draw_threshold(threshold: float, *, fitted: bool, none: bool) -> None:
    """Draw the line below which the encoder sees no entailment."""
    caption = "No hit is an entailment" if none else "No entailment below this line"
    origin = "" if fitted else " (default: the encoder was not calibrated)"
    st.caption(f":material/horizontal_rule: **{caption}**: threshold {threshold:.3f}{origin}.")
