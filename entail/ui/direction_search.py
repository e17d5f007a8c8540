"""Search by direction over a corpus, beside plain cosine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import streamlit as st

from entail.ui.authoring import draw_progress
from entail.ui.direction_encoder import take_index
from entail.ui.resources import Workspace, shelf
from entail.ui.words import label, marked, words_of

if TYPE_CHECKING:
    from entail.encoders.gaussian import GaussianEncoder
    from entail.index.gaussian import GaussianIndex
    from entail.index.protocol import Hits, PremiseIndex
    from entail.ui.works import Work

Direction = Literal["entailing", "entailed"]
DIRECTIONS: dict[Direction, str] = {"entailing": "What entails it", "entailed": "What it entails"}
SHOWN = 10
LONGEST = 200_000
_COSINE = "minilm"


def draw_search(shared: Workspace, encoder: GaussianEncoder) -> None:
    """Draw the fields, and what both searches bring."""
    infos = {info.id: info for info in shared.corpora.corpora()}
    if not infos:
        st.info("There is no corpus yet. Bring one on the Corpora page.", icon=":material/library_add:")
        return
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        query = st.text_input(
            "Sentence", key="direction_query", max_chars=LONGEST, value="the moon reflects sunlight"
        )
    with right:
        corpus_id = st.selectbox(
            "Corpus",
            list(infos),
            format_func=lambda id_: f"{infos[id_].name} ({infos[id_].count:,} facts)",
            key="direction_corpus",
        )
    way = st.segmented_control(
        "Direction",
        list(DIRECTIONS),
        default="entailing",
        format_func=DIRECTIONS.__getitem__,
        key="direction_way",
        required=True,
        label_visibility="collapsed",
    )
    if not query.strip():
        st.info("Type a sentence to search with.", icon=":material/edit:")
        return
    info = infos[corpus_id]
    corpus = shared.corpora.corpus(info.id, version=info.version)
    works: tuple[Work[GaussianIndex], Work[PremiseIndex]]
    works = (take_index(encoder, corpus), shelf().take(_COSINE, corpus))
    gaussian, cosine = works[0].value, works[1].value
    if gaussian is None or cosine is None:
        draw_progress(works[0] if gaussian is None else works[1])
        return
    if encoder.cut([query])[0]:
        st.warning(
            "The sentence is longer than what the encoder reads: it was truncated, and only its beginning is "
            "searched with.",
            icon=":material/content_cut:",
        )
    sides: tuple[tuple[str, Hits], ...] = (
        (f"{DIRECTIONS[way]} ({encoder.name})", gaussian.search([query], k=SHOWN, direction=way)),
        ("Plain cosine (MiniLM)", cosine.search([query], k=SHOWN)),
    )
    found = [frozenset(hits.positions[0].tolist()) for _, hits in sides]
    known = words_of(query)
    for number, (column, (title, hits)) in enumerate(zip(st.columns(2), sides, strict=True)):
        with column:
            st.markdown(f"**{label(title)}**")
            rows = zip(hits.positions[0].tolist(), hits.scores[0].tolist(), strict=True)
            for rank, (position, score) in enumerate(rows, start=1):
                also = " · in both" if position in found[1 - number] else ""
                st.html(
                    f'<div class="entail-sentence">{rank}. {marked(corpus.texts[position], known)} '
                    f'<span class="entail-quiet">{score:.3f}{also}</span></div>'
                )
