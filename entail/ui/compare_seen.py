"""Which retriever was trained on the very claims that are compared: nobody should judge by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from entail.encoders.seen import seen_by
from entail.ui.resources import retriever_label
from entail.ui.words import label


def draw_seen(queries: Sequence[str], names: Iterable[str]) -> None:
    """Say of each of these retrievers on how many of the queries it was trained; nothing where on none."""
    for name in names:
        if seen := seen_by(name, queries):
            st.caption(f":material/school: {label(retriever_label(name))} {_said(len(seen), len(queries))}")


def _said(seen: int, asked: int) -> str:
    """Return the rest of the sentence.

    >>> _said(1, 1)[:30]
    'was trained on this very claim'
    >>> _said(2, 40)[:32]
    'was trained on 2 of these 40 cla'
    """
    if asked == 1:
        return (
            "was trained on this very claim and knows it by heart: its places here say less than those for "
            "claims that it has not seen."
        )
    which = "all" if seen == asked else f"{seen:,}"
    return (
        f"was trained on {which} of these {asked:,} claims and knows them by heart: its figures here say "
        "less than those on claims that it has not seen."
    )
