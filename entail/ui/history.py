"""The log of a tree, newest first: who did what, when, and on what grounds."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from entail.trees.acts import Evidence, Redo, Undo
from entail.trees.replay import History
from entail.ui.words import label

_LONGEST = 100


def draw_history(history: History, evidence: Mapping[int, Evidence]) -> None:
    """Draw the last hundred events; acts out of force are struck through."""
    for event in reversed(history.events[-_LONGEST:]):
        words = label(history.describe(event))
        if event.seq in history.out_of_force and not isinstance(event.act, Undo | Redo):
            words = f"~~{words}~~ (undone)"
        shown = evidence.get(event.seq)
        grounds = (
            f"  \n:gray[{label(shown.retriever)}, {len(shown.shown)} shown"
            + (f", searched {label(shown.query, longest=60)}" if shown.own_words else "")
            + "]"
            if shown
            else ""
        )
        st.markdown(
            f":gray[{event.seq} · {event.at:%d %b %H:%M:%S}] **{label(event.author)}**  {words}{grounds}"
        )
    if len(history.events) > _LONGEST:
        st.caption(f"{len(history.events) - _LONGEST} older acts: all are in the log and in every backup.")
