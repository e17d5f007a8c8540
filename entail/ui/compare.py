"""Two rankings side by side, with what moved between them."""

from __future__ import annotations

import streamlit as st

from entail.evaluation.comparison import ComparedPremise, Comparison
from entail.ui.resources import retriever_label
from entail.ui.words import label, marked, words_of

_STYLE = """
<style>
  .cmp { width: 100%; border-collapse: collapse; }
  .cmp td { padding: .34rem .45rem; vertical-align: top; border-bottom: 1px solid
            color-mix(in srgb, currentColor 14%, transparent); overflow-wrap: anywhere; }
  .cmp td.n { text-align: right; width: 2.2rem; font-variant-numeric: tabular-nums; opacity: .75; }
  .cmp td.m { width: 4.6rem; white-space: nowrap; font-variant-numeric: tabular-nums; font-size: .86rem; }
  .cmp tr.gold td { background: color-mix(in srgb, #e69f00 13%, transparent); }
  .cmp .accepted { color: #0072b2; font-weight: 600; } .cmp .rejected { color: #c2699b; font-weight: 600; }
  .cmp .up { color: #0a8f6a; } .cmp .down { color: #c8541c; } .cmp .new { color: #8a5fc7; font-weight: 600; }
</style>
"""


def draw_found(comparison: Comparison) -> None:
    """Draw what both have in common, and how many known premises each finds."""
    known = any(row.gold is not None for row in comparison.rows)
    cells = st.columns(3)
    cells[0].metric("In both", f"{comparison.shared} of {comparison.k}", border=True)
    for which in (0, 1):
        cells[which + 1].metric(
            f"{label(retriever_label(comparison.names[which]))}: known premises found",
            str(comparison.found(which)) if known else "not known",
            border=True,
        )


def draw_comparison(comparison: Comparison) -> None:
    """Draw both rankings; ranks on one side say where the other has the same premise."""
    words = words_of(comparison.query)
    for which, column in enumerate(st.columns(2, gap="medium")):
        with column:
            st.markdown(f"**{label(retriever_label(comparison.names[which]))}**")
            rows = "".join(_row(row, which, comparison.k, words) for row in comparison.side(which))
            st.html(f'{_STYLE}<table class="cmp">{rows}</table>')
    st.caption(
        "Highlighted: words shared with the query. Amber rows with ★: premises of a reference tree. "
        "✓ ✗: accepted, rejected by an author. "
        "▲ ▼ ranks gained or lost against the other side, “new”: not among its first "
        f"{comparison.k}."
    )


def _row(row: ComparedPremise, which: int, k: int, words: frozenset[str]) -> str:
    other = row.ranks[1 - which]
    gained = other - row.ranks[which]
    if other > k:
        moved = f'<span class="new" title="rank {other} there">new</span>'
    elif gained:
        way, sign = ("up", "▲") if gained > 0 else ("down", "▼")
        moved = f'<span class="{way}">{sign} {abs(gained)}</span>'
    else:
        moved = "="
    star = ' <span title="premise in a reference tree">★</span>' if row.gold else ""
    if row.decision is not None:
        said, sign = ("accepted", "✓") if row.decision else ("rejected", "✗")
        star += f' <span class="{said}" title="{said} by an author">{sign}</span>'
    return (
        f'<tr class="{"gold" if row.gold else ""}"><td class="n">{row.ranks[which]}</td>'
        f"<td>{marked(row.premise.text, words)}{star}</td>"
        f'<td class="m">{row.scores[which]:.3f}<br>{moved}</td></tr>'
    )
