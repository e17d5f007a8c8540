"""Many questions at once: claims to look through and edit, counts by rule, CSV out."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import streamlit as st

from entail.ui.authoring import draw_progress
from entail.ui.claims_rows import (
    Claimed,
    QuestionTable,
    claim_table,
    claims_csv,
    merged,
    read_pasted,
    read_table,
)
from entail.ui.compare_files import CSV, offer
from entail.ui.exchange import upload_limit
from entail.ui.inbox import held
from entail.ui.resources import comparisons
from entail.ui.words import label

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from entail.progress import ProgressCallback

_PASTED, _KEPT = "claims_pasted", "claims_pasted_kept"
_EDITS = "claims_table_edits"
_LONGEST = 2_000_000
_EXAMPLE = "When did the first person walk on the Moon?\t1969\nWhich gas do plants take in?\tcarbon dioxide"


def draw_table() -> None:
    """Draw the fields for questions, and their claims once they are made."""
    left, right = st.columns(2, gap="large")
    if _PASTED not in st.session_state:  # it was left for another page or mode
        st.session_state[_PASTED] = st.session_state.get(_KEPT, "")
    pasted = left.text_area(
        "Questions, one a line",
        key=_PASTED,
        max_chars=_LONGEST,
        height=150,
        placeholder=_EXAMPLE,
        help="Behind a tab may stand the answer, as in cells that were copied from a spreadsheet.",
    )
    file = right.file_uploader(
        "or a file: CSV with a column question, TSV, text, JSONL, SQuAD or DPR JSON; also gzipped",
        key="claims_file",
        max_upload_size=upload_limit(),
    )
    st.session_state[_KEPT] = pasted
    if file is None and not pasted.strip():
        st.info("Paste questions or upload them: each becomes a claim.", icon=":material/edit_note:")
        return
    content, name = (file.getvalue(), file.name) if file is not None else (pasted.encode(), "")
    digest = hashlib.sha256(name.encode() + b"\n" + content).hexdigest()[:16]

    def make(report: ProgressCallback) -> tuple[QuestionTable, Claimed]:
        table = read_table(content, name=name) if name else read_pasted(content.decode())
        return table, claim_table(table, progress=report)

    work = comparisons().take(("claims", digest), make)
    if work.value is None:
        draw_progress(work, waiting="Reading the questions …")
        return
    table, claimed = work.value
    draw_claims(digest, table, claimed)


def draw_claims(digest: str, table: QuestionTable, claimed: Claimed) -> None:
    """Draw counts, the claims to edit, and what can be taken along."""
    count = len(claimed.claims)
    st.markdown(
        f"**{count:,} question{'s' if count != 1 else ''}:** {claimed.fallback:,} by no rule for questions "
        f"({claimed.fallback / count:.1%})"
    )
    st.altair_chart(counts_chart(claimed), width="stretch", key=f"claims-chart-{digest}")
    st.caption(
        f"By rule: {label(counts_in_words(claimed))}."
        + (" Orange: no rule for questions fits." if claimed.fallback else "")
    )
    rules = [rule for rule, _ in claimed.counts()]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect("Rules", rules, key=f"claims-rules-{digest}", placeholder="All rules")
        fallback = st.toggle("Only by no rule for questions", key=f"claims-fallback-{digest}")
    rows = [
        number
        for number, one in enumerate(claimed.claims)
        if (not chosen or one.rule in chosen) and (one.fallback or not fallback)
    ]
    note = st.empty()  # above the table, whose own buttons would else lie over the fields
    edits = _draw_editor(digest, table, claimed, rows)
    kept = (
        f"{len(edits):,} edited, kept as long as this session" if edits else "write over a claim to change it"
    )
    note.caption(f"{len(rows):,} shown · :material/edit: {kept}")
    offer("Claims (CSV)", lambda: claims_csv(table, claimed, edits), name="claims.csv", kind=CSV)


def _draw_editor(digest: str, table: QuestionTable, claimed: Claimed, rows: list[int]) -> dict[int, str]:
    """Draw the lines of some rows, whose claims can be written over; return all edits of the table."""
    written: dict[str, dict[int, str]] = st.session_state.setdefault(_EDITS, {})
    which = hashlib.sha256(repr(rows).encode()).hexdigest()[:12] if len(rows) < len(table.rows) else "all"
    key, base = f"claims-editor-{digest}-{which}", f"claims-base-{digest}-{which}"
    # What the editor begins with must stay as it is while it is on the screen, or it forgets what was typed.
    if key not in st.session_state or base not in st.session_state:
        st.session_state[base] = dict(written.get(digest, {}))
    begun: dict[int, str] = st.session_state[base]

    def changed() -> None:
        told: dict[int, dict[str, Any]] = held(key)["edited_rows"]
        written[digest] = merged(written.get(digest, {}), told, rows, claimed)

    if not rows:
        st.info("No question here.", icon=":material/filter_alt_off:")
        return written.get(digest, {})
    columns = st.column_config
    st.data_editor(
        editor_frame(table, claimed, rows, begun),
        key=key,
        on_change=changed,
        hide_index=True,
        height=min(420, 38 + 36 * len(rows)),
        disabled=["question", "answer", "rule", "no rule", "statement"],
        column_config={
            "question": columns.TextColumn("Question", width="medium"),
            "claim": columns.TextColumn(
                "Claim", width="large", help="Write over it to change it.", max_chars=5000
            ),
            "rule": columns.TextColumn("Rule", width="small"),
            "no rule": columns.CheckboxColumn("No rule", width="small", help="No rule for questions fits."),
            "answer": columns.TextColumn("Answer", width="medium"),
            "statement": columns.TextColumn("With the answer", width="large"),
        },
    )
    return written.get(digest, {})


def editor_frame(
    table: QuestionTable, claimed: Claimed, rows: list[int], edits: dict[int, str]
) -> pd.DataFrame:
    """Return some rows as they stand on the screen."""
    import pandas as pd

    claims = claimed.claims
    frame = {
        "question": _pick(table.questions, rows),
        "claim": [edits.get(row, claims[row].text) for row in rows],
        "rule": [claims[row].rule for row in rows],
        "no rule": [claims[row].fallback for row in rows],
    }
    if any(claimed.statements):
        frame["answer"] = _pick(table.answers, rows)
        frame["statement"] = [said.text if (said := claimed.statements[row]) else "" for row in rows]
    return pd.DataFrame(frame)


def _pick(values: list[str], rows: list[int]) -> list[str]:
    return [values[row] for row in rows]


def counts_chart(claimed: Claimed) -> alt.Chart:
    """Return how often each rule fired, as bars; those that are no rule for questions in another colour."""
    import altair as alt
    import pandas as pd

    from entail.tuning.rules import FALLBACK

    counts = claimed.counts()
    frame = pd.DataFrame(
        {
            "rule": [rule for rule, _ in counts],
            "questions": [count for _, count in counts],
            "kind": ["no rule for questions" if rule in FALLBACK else "a rule" for rule, _ in counts],
        }
    )
    kinds = ["a rule", "no rule for questions"]
    bars = alt.Chart(frame).encode(
        x=alt.X("questions:Q", title=None, axis=alt.Axis(tickMinStep=1, format=",d", tickCount=5)),
        y=alt.Y("rule:N", title=None, sort=None, axis=alt.Axis(labelLimit=160, labelOverlap=False)),
        tooltip=["rule:N", alt.Tooltip("questions:Q", format=",d")],
    )
    marks = bars.mark_bar().encode(
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=["#0072b2", "#d55e00"]), legend=None)
    )
    chart: alt.Chart = marks.properties(
        height=24 * len(counts) + 24, description=f"Questions by rule: {counts_in_words(claimed)}"
    )
    return chart


def counts_in_words(claimed: Claimed) -> str:
    """Return how often each rule fired, for who cannot see the chart."""
    return ", ".join(f"{rule} {count:,}" for rule, count in claimed.counts())
