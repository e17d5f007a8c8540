"""Taking a tree along, in every format."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from entail.data.records import Corpus
from entail.ui.resources import Workspace
from entail.ui.screen import Desk


def draw_export(shared: Workspace, desk: Desk, corpus: Corpus) -> None:
    """Draw the download buttons; a file is made only when it is asked for."""
    tree_id = desk.screen.tree_id
    with st.popover("Export", icon=":material/download:"):
        for name, suffix, mime, make in _formats(shared, desk, corpus):
            st.download_button(
                name,
                data=make,
                file_name=f"tree-{tree_id}{suffix}",
                mime=mime,
                key=f"export-{tree_id}-{suffix}",
                on_click="ignore",
                width="stretch",
            )


def _formats(
    shared: Workspace, desk: Desk, corpus: Corpus
) -> list[tuple[str, str, str, Callable[[], str | bytes]]]:
    from entail.trees import formats

    tree, tree_id, history = desk.history.tree, desk.screen.tree_id, desk.history
    return [
        (
            "EntailmentBank JSONL",
            ".jsonl",
            "application/jsonl",
            lambda: formats.to_jsonl([tree], corpus=corpus),
        ),
        ("Web page (HTML)", ".html", "text/html", lambda: formats.to_html(tree)),
        ("Picture (SVG)", ".svg", "image/svg+xml", lambda: formats.to_svg(tree)),
        ("GraphML", ".graphml", "application/xml", lambda: formats.to_graphml(tree)),
        ("Graphviz (DOT)", ".dot", "text/vnd.graphviz", lambda: formats.to_dot(tree)),
        (
            "Judged pairs (CSV)",
            ".csv",
            "text/csv",
            lambda: formats.to_judged_csv({tree_id: (history, shared.log.evidence(tree_id))}),
        ),
    ]
