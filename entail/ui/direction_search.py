"""Search by direction over a corpus, beside plain cosine."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import streamlit as st

from entail.data.text import is_blank
from entail.trees.formats.escaping import cell
from entail.ui.authoring import draw_progress
from entail.ui.compare_files import CSV, offer
from entail.ui.direction_encoder import take_index
from entail.ui.resources import Workspace, shelf
from entail.ui.words import label, marked, words_of

if TYPE_CHECKING:
    from entail.data.records import Corpus
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
    from entail.gausscse.verdict import NO_THRESHOLD

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
    if is_blank(query):
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
    threshold = NO_THRESHOLD if encoder.threshold is None else encoder.threshold
    above = entailing(sides[0][1], threshold)
    for number, (column, (title, hits)) in enumerate(zip(st.columns(2), sides, strict=True)):
        with column:
            st.markdown(f"**{label(title)}**")
            rows = zip(hits.positions[0].tolist(), hits.scores[0].tolist(), strict=True)
            for rank, (position, score) in enumerate(rows, start=1):
                if number == 0 and rank == above + 1:
                    _draw_threshold(threshold, way, fitted=encoder.threshold is not None, none=above == 0)
                also = " · in both" if position in found[1 - number] else ""
                st.html(
                    f'<div class="entail-sentence">{rank}. {marked(corpus.texts[position], known)} '
                    f'<span class="entail-quiet">{score:.3f}{also}</span></div>'
                )
    offer("What was found (CSV)", found_csv(corpus, sides, threshold), name="search.csv", kind=CSV)


def entailing(hits: Hits, threshold: float) -> int:
    """Return how many of the first query's hits stand above the threshold; they come first."""
    return int((hits.scores[0] > threshold).sum())


def found_csv(corpus: Corpus, sides: Sequence[tuple[str, Hits]], threshold: float) -> str:
    """Return both lists, that by direction first: of each of its hits whether it is above the threshold.

    Texts stand as `cell` guards them.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["search", "rank", "fact", "similarity", "threshold", "entailment"])
    for number, (title, hits) in enumerate(sides):
        above = entailing(hits, threshold)
        for rank, position in enumerate(hits.positions[0].tolist(), start=1):
            told = [threshold, "yes" if rank <= above else "no"] if number == 0 else ["", ""]
            score = f"{hits.scores[0, rank - 1]:.6f}"
            writer.writerow([cell(title), rank, cell(corpus.texts[position]), score, *told])
    return out.getvalue()


def _draw_threshold(threshold: float, way: Direction, *, fitted: bool, none: bool) -> None:
    """Say where the list goes on with what is only the nearest of what does not entail."""
    claim = "that they entail it" if way == "entailing" else "that it entails them"
    where = "Of none of these would the encoder say" if none else "Below here the encoder would not say"
    why = "the fitted threshold" if fitted else "the threshold taken, as none was fitted"
    st.caption(
        f":material/horizontal_rule: **{where} {claim}**: none is more similar than {threshold:.3f}, {why}."
    )
