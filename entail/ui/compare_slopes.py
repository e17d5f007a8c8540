"""Slopes on the page, their words in the colour of the theme."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from entail.ui.slopes import Slope, draw_slopes

# Streamlit tells axes and legends the theme's colours, but no text among the marks.
_STYLE = """
<style>
  [class*="st-key-slopes-"] svg .mark-text text { fill: currentColor; }
</style>
"""


def show_slopes(
    lines: Sequence[Slope], names: tuple[str, str], *, k: int, alt: str, key: str = "one"
) -> None:
    """Draw the chart; `alt` says it in words, and the key tells charts of one page apart."""
    with st.container(key=f"slopes-{key}"):
        st.html(_STYLE)
        st.altair_chart(draw_slopes(lines, names, k=k), width="stretch", alt=alt)
