"""Search by direction over a corpus, next to cosine search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import streamlit as st

from entail.data.text import is_blank
from entail.ui.direction.encoder import take_index
from entail.ui.shared.downloads import CSV, draw_download, table_csv
from entail.ui.shared.resources import Workspace, model_cache
from entail.ui.shared.text import label, marked, words_of
from entail.ui.shared.waiting import draw_progress

if TYPE_CHECKING:
    from entail.data.records import Corpus
    from entail.encoders.gaussian.encoder import GaussianEncoder
    from entail.index.gaussian import GaussianIndex
    from entail.index.protocol import Hits, PremiseIndex
    from entail.ui.shared.tasks import Task

Direction = Literal["entailing", "entailed"]
DIRECTIONS: dict[Direction, str] = {"entailing": "Entails the query", "entailed": "Entailed by the query"}
SHOWN = 10
LONGEST = 200_000
_COSINE = "minilm"


def draw_search(shared: Workspace, encoder: GaussianEncoder) -> None:
    """Draw the fields and the results of both searches."""
    from entail.gausscse.verdict import NO_THRESHOLD

    infos = {info.id: info for info in shared.corpora.corpora()}
    if not infos:
        st.info("No corpus yet. Upload one on the Corpora page.", icon=":material/library_add:")
        return
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        query = st.text_input(
            "Query", key="direction_query", max_chars=LONGEST, value="the moon reflects sunlight"
        )
    with right:
        corpus_id = st.selectbox(
            "Corpus",
            list(infos),
            format_func=lambda id_: f"{infos[id_].name} ({infos[id_].count:,} premises)",
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
        st.info("Enter a query.", icon=":material/edit:")
        return
    info = infos[corpus_id]
    corpus = shared.corpora.corpus(info.id, version=info.version)
    tasks: tuple[Task[GaussianIndex], Task[PremiseIndex]]
    tasks = (take_index(encoder, corpus), model_cache().get_or_start(_COSINE, corpus))
    gaussian, cosine = tasks[0].value, tasks[1].value
    if gaussian is None or cosine is None:
        draw_progress(tasks[0] if gaussian is None else tasks[1])
        return
    if encoder.cut([query])[0]:
        st.warning(
            "The query exceeds the encoder's input and was truncated.",
            icon=":material/content_cut:",
        )
    sides: tuple[tuple[str, Hits], ...] = (
        (f"{DIRECTIONS[way]} ({encoder.name})", gaussian.search([query], k=SHOWN, direction=way)),
        ("Plain cosine (MiniLM)", cosine.search([query], k=SHOWN)),
    )
    found = [frozenset(hits.positions[0].tolist()) for _, hits in sides]
    known = words_of(query)
    threshold = NO_THRESHOLD if encoder.threshold is None else encoder.threshold
    above = count_entailing(sides[0][1], threshold)
    for number, (column, (title, hits)) in enumerate(zip(st.columns(2), sides, strict=True)):
        with column:
            st.markdown(f"**{label(title)}**")
            rows = zip(hits.positions[0].tolist(), hits.scores[0].tolist(), strict=True)
            for rank, (position, score) in enumerate(rows, start=1):
                if number == 0 and rank == above + 1:
                    _draw_threshold(threshold, fitted=encoder.threshold is not None, none=above == 0)
                also = " · in both" if position in found[1 - number] else ""
                st.html(
                    f'<div class="entail-sentence">{rank}. {marked(corpus.texts[position], known)} '
                    f'<span class="entail-quiet">{score:.3f}{also}</span></div>'
                )
    draw_download(
        "Results (CSV)", table_csv(search_rows(corpus, sides, threshold)), name="search.csv", kind=CSV
    )


def count_entailing(hits: Hits, threshold: float) -> int:
    """Return the number of the first query's hits above the threshold."""
    return int((hits.scores[0] > threshold).sum())


def search_rows(
    corpus: Corpus, sides: Sequence[tuple[str, Hits]], threshold: float
) -> Iterator[tuple[object, ...]]:
    """Yield a header, then the hits of both searches, those by direction first with their verdicts."""
    yield "search", "rank", "fact", "similarity", "threshold", "entailment"
    for number, (title, hits) in enumerate(sides):
        above = count_entailing(hits, threshold)
        for rank, position in enumerate(hits.positions[0].tolist(), start=1):
            verdict = (threshold, "yes" if rank <= above else "no") if number == 0 else ("", "")
            yield title, rank, corpus.texts[position], f"{hits.scores[0, rank - 1]:.6f}", *verdict


def _draw_threshold(threshold: float, *, fitted: bool, none: bool) -> None:
    """Draw the line below which the encoder sees no entailment."""
    where = "No hit is an entailment" if none else "No entailment below this line"
    origin = "" if fitted else " (default: the encoder was not calibrated)"
    st.caption(f":material/horizontal_rule: **{where}**: threshold {threshold:.3f}{origin}.")
