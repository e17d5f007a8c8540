"""Compare view of the Serving page: the same searches sent to two retrievers of one server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from entail.errors import EntailError
from entail.progress import Meter, ProgressCallback
from entail.runtime.tasks import TaskGroup
from entail.serving.service import recent_searches
from entail.ui.components.elements import draw_error, draw_table
from entail.ui.serving.target import Target, draw_api_off, is_locked
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace
from entail.ui.shared.waiting import draw_result, start_task

REPLAYS = TaskGroup("replays", failure="the searches could not be replayed")
"""Comparisons of two retrievers under the same searches."""

DEPTH = 10
"""Hits of a search that are compared."""

_ATTEMPTS = 60
_MOST = 100
_ROWS = 10
_CLAIMS, _RECENT, _OWN = "Claims of trees", "Recent searches", "Own queries"


@dataclass(frozen=True)
class Replay:
    """Latencies in seconds of two retrievers, shape (2, queries), and the overlap of their first hits."""

    names: tuple[str, str]
    revisions: tuple[str, str]
    queries: tuple[str, ...]
    seconds: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    overlap: tuple[float, ...]


def replay(
    target: Target, corpus: str, queries: Sequence[str], names: tuple[str, str], report: ProgressCallback
) -> Replay:
    """Send each query to both retrievers in turn, and compare their first hits.

    Raises:
        ServingError: If a request fails.
    """
    seconds, overlap = np.empty((2, len(queries))), []
    meter = Meter(len(queries), "replaying searches", unit="searches", report=report)
    with target.client(attempts=_ATTEMPTS) as client:
        # The first search loads the model and waits for the index.
        revisions = [
            client.search(queries[:1], corpus=corpus, retriever=name, k=1).revision for name in names
        ]
        for number, query in enumerate(queries):
            hits = []
            for turn in (number % 2, 1 - number % 2):  # neither is always the first
                start = time.perf_counter()
                answer = client.search([query], corpus=corpus, retriever=names[turn], k=DEPTH)
                seconds[turn, number] = time.perf_counter() - start
                hits.append({hit.key for hit in answer.hits[0]})
            overlap.append(len(hits[0] & hits[1]) / max(map(len, hits)))
            meter.add(1)
    return Replay(names, (revisions[0], revisions[1]), tuple(queries), seconds, tuple(overlap))


def draw_replay(shared: Workspace, target: Target) -> None:
    """Draw the choice of two retrievers and of the searches, and the comparison once it is made."""
    if not target.url:
        draw_api_off()
        return
    try:
        with target.client(timeout=5.0) as client:
            info = client.info()
    except EntailError as error:
        draw_error(error)
        return
    columns = st.columns(3)
    default = info.retrievers.index(info.default_encoder) if info.default_encoder in info.retrievers else 0
    first = columns[0].selectbox(
        "First", info.retrievers, index=default, format_func=model_label, key="replay_first"
    )
    second = columns[1].selectbox("Second", info.retrievers, format_func=model_label, key="replay_second")
    corpus = columns[2].selectbox("Corpus", [corpus.name for corpus in info.corpora], key="replay_corpus")
    queries = _pick_queries(shared, target, corpus)
    if corpus is None or not queries or is_locked():
        st.caption("Nothing to replay." if not is_locked() else "Only operators replay searches.")
        return
    key = (target.url, corpus, first, second, tuple(queries))
    st.button(
        f"Replay {len(queries)} searches",
        icon=":material/replay:",
        type="primary",
        key="replay_start",
        on_click=start_task,
        args=(REPLAYS, key, lambda report: replay(target, corpus, queries, (first, second), report)),
        kwargs={"slot": "replay"},
        disabled=first == second,
        help="Sends each to both, one after the other." if first != second else "Choose two that differ.",
    )
    compared = draw_result(REPLAYS, key, Replay, waiting="Loading both …", slot="replay")
    if compared is not None:
        _draw(compared)


def _pick_queries(shared: Workspace, target: Target, corpus: str | None) -> list[str]:
    sources = [_CLAIMS, _OWN]
    ids = {info.name: info.id for info in shared.corpora.corpora()}
    trees = shared.log.trees(corpus_id=ids.get(corpus or "")) if corpus in ids else shared.log.trees()
    claims = dict.fromkeys(tree.hypothesis for tree in trees)
    searches = recent_searches() if target.is_own else []
    # A replay of claims counts among the recent searches, too.
    recent = [query for name, query in searches if name == corpus and query not in claims]
    if recent:
        sources.insert(1, _RECENT)
    source = st.segmented_control("Searches", sources, default=_CLAIMS, required=True, key="replay_source")
    if source == _OWN:
        text = st.text_area("Queries", key="replay_own", help="One a line.")
        queries = [line.strip() for line in text.splitlines() if line.strip()]
    elif source == _RECENT:
        queries = recent
    else:
        queries = list(claims)
    return list(dict.fromkeys(queries))[:_MOST]


def _draw(compared: Replay) -> None:
    rows = []
    for name, revision, seconds in zip(compared.names, compared.revisions, compared.seconds, strict=True):
        quantiles = dict(zip(("p50", "p95", "p99"), np.quantile(seconds, (0.5, 0.95, 0.99)), strict=True))
        cells = {label: f"{1000 * value:,.0f} ms" for label, value in quantiles.items()}
        rows.append({"retriever": model_label(name), **cells, "revision": revision})
    draw_table(pd.DataFrame(rows))
    st.metric(
        f"Overlap of the first {DEPTH}",
        f"{np.mean(compared.overlap):.0%}",
        help="Mean share of hits that both return, whatever their order.",
    )
    order = np.argsort(compared.overlap, kind="stable")[:_ROWS]
    st.caption(f"The searches that differ most, of {len(compared.queries)}:")
    draw_table(
        pd.DataFrame(
            [
                {"query": compared.queries[at], "overlap": f"{compared.overlap[at]:.0%}"}
                for at in order.tolist()
            ]
        )
    )
