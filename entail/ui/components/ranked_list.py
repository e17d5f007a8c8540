"""Ranked list as an HTML table, with each row's rank against another list."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

_STYLE = """
<style>
  .ranked { width: 100%; border-collapse: collapse; table-layout: fixed; }
  .ranked td { padding: .34rem .4rem; vertical-align: top; overflow-wrap: anywhere; border-bottom: 1px solid
            color-mix(in srgb, currentColor 14%, transparent); }
  .ranked td.n { text-align: right; width: 2.2rem; font-variant-numeric: tabular-nums; opacity: .75; }
  .ranked td.m { width: 3.4rem; white-space: nowrap; font-variant-numeric: tabular-nums; font-size: .86rem; }
  .ranked tr.gold td { background: color-mix(in srgb, #e69f00 13%, transparent); }
  .ranked .accepted { color: #0072b2; font-weight: 600; }
  .ranked .rejected { color: #c2699b; font-weight: 600; }
  .ranked .up { color: #0a8f6a; } .ranked .down { color: #c8541c; }
  .ranked .new { color: #8a5fc7; font-weight: 600; }
  .ranked .says { display: block; font-size: .84rem; opacity: .8; margin-top: .15rem; }
  .ranked .yes { color: #0a8f6a; opacity: 1; font-weight: 600; }
  .ranked summary { cursor: pointer; opacity: .72; font-size: .86rem; }
</style>
"""


def draw_ranked_list(rows: Iterable[tuple[int, str, float, str, bool]]) -> None:
    """Draw rows of rank, HTML of the text, score, HTML of the change, and whether the row is gold."""
    body = "".join(
        f'<tr class="{"gold" if is_gold else ""}"><td class="n">{rank}</td><td>{text}</td>'
        f'<td class="m">{score:.3f}<br>{change}</td></tr>'
        for rank, text, score, change, is_gold in rows
    )
    st.html(f'{_STYLE}<table class="ranked">{body}</table>')


def moved_mark(rank: int, other: int, *, k: int) -> str:
    """Return the HTML of a rank's change against another list of depth k, 0 if it is not there.

    >>> moved_mark(2, 2, k=5)
    '='
    """
    if other == 0 or other > k:
        where = f"rank {other:,}" if other else "not found"
        return f'<span class="new" title="Other side: {where}">new</span>'
    if other == rank:
        return "="
    way, sign = ("up", "▲") if other > rank else ("down", "▼")
    return f'<span class="{way}" title="Other side: rank {other:,}">{sign} {abs(other - rank)}</span>'
