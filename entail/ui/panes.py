"""The two halves of the authoring screen: beside each other, or taking turns where the screen is narrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

PANES = ("Candidates", "Tree")
"""What a narrow screen shows one of at a time."""

NARROW = 640
"""Pixels up to which Streamlit puts columns below each other."""

_STYLE = """
<style>
  @media (min-width: {above}px) {{ .st-key-panes-switch {{ display: none; }} }}
  @media (max-width: {narrow}px) {{
    /* The tools first, which both halves need. */
    .st-key-panes [data-testid="stColumn"]:has(.st-key-tools) {{ order: -1; }}
    /* Out of sight, but not without a size: a graph that has none cannot fit itself. */
    {hidden} {{ position: absolute; width: 100%; height: 0; overflow: hidden; visibility: hidden; }}
  }}
</style>
"""
_PARTS = {"Candidates": (".st-key-candidates",), "Tree": (".st-key-tree-head", ".st-key-tree-body")}


@contextmanager
def panes() -> Iterator[None]:
    """Put what is drawn inside into the two halves, and draw what switches between them on narrow screens.

    Inside, the containers `candidates`, `tree-head`, `tools` and `tree-body` are told apart by their keys.
    """
    with st.container(key="panes-switch"):
        shown = st.segmented_control(
            "Show",
            PANES,
            default=PANES[0],
            required=True,
            key="pane",
            label_visibility="collapsed",
            width="stretch",
        )
    hidden = ", ".join(part for name in PANES if name != shown for part in _PARTS[name])
    st.html(_STYLE.format(narrow=NARROW, above=NARROW + 1, hidden=hidden))
    with st.container(key="panes"):
        yield
