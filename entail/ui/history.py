"""The log of a tree, newest first: who did what, when, and on what grounds."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from entail.trees.acts import Evidence, Redo, Undo
from entail.trees.provenance import grounds
from entail.trees.replay import History
from entail.ui.author import with_mark
from entail.ui.resources import retriever_name, revisions
from entail.ui.words import label

_LONGEST = 100


def draw_history(history: History, evidence: Mapping[int, Evidence]) -> None:
    """Draw the last hundred events, with who ranked what was judged; acts out of force are struck through."""
    here = revisions()
    for event in reversed(history.events[-_LONGEST:]):
        words = label(history.describe(event))
        if event.seq in history.out_of_force and not isinstance(event.act, Undo | Redo):
            words = f"~~{words}~~ (undone)"
        shown = evidence.get(event.seq)
        words_for = (
            f"  \n:gray[{label(grounds(event.act, shown, here, called=retriever_name))}]" if shown else ""
        )
        st.markdown(
            f":gray[{event.seq} · {event.at:%d %b %H:%M:%S}] "
            f"{with_mark(event.author, verified=event.verified)}  {words}{words_for}"
        )
    if len(history.events) > _LONGEST:
        st.caption(f"{len(history.events) - _LONGEST} older acts: all are in the log and in every backup.")
