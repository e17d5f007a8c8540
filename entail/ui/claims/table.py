"""Claims of many questions: counts by rule, a table to edit, CSV."""

from __future__ import annotations

import hashlib
from typing import Any

import pandas as pd
import streamlit as st

from entail.claims.table import Claimed, claim_rows, claim_table, merge_edits
from entail.data.passages.question_table import QuestionTable, read_pasted, read_table
from entail.data.text import count_of
from entail.progress import ProgressCallback
from entail.runtime.tasks import COMPARISONS
from entail.ui.components.inbox import widget_value
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.form import upload_limit
from entail.ui.shared.waiting import await_value

_PASTED, _STORED = "claims_pasted", "claims_pasted_kept"
_LONGEST = 2_000_000
_EXAMPLE = "When did the first person walk on the Moon?\t1969\nWhich gas do plants take in?\tcarbon dioxide"


def draw_table() -> None:
    """Draw the fields for questions, and their claims."""
    left, right = st.columns(2, gap="large")
    if _PASTED not in st.session_state:  # back from another page or mode
        st.session_state[_PASTED] = st.session_state.get(_STORED, "")
    pasted = left.text_area(
        "Questions, a line each",
        key=_PASTED,
        max_chars=_LONGEST,
        height=150,
        placeholder=_EXAMPLE,
        help="An answer can follow after a tab.",
    )
    file = right.file_uploader(
        "Or a file: CSV, TSV, text, JSONL, SQuAD or DPR JSON; also gzipped",
        key="claims_file",
        max_upload_size=upload_limit(),
    )
    st.session_state[_STORED] = pasted
    if file is None and not pasted.strip():
        st.info("Paste or upload questions.", icon=":material/edit_note:")
        return
    content, name = (file.getvalue(), file.name) if file is not None else (pasted.encode(), "")
    digest = hashlib.sha256(name.encode() + b"\n" + content).hexdigest()[:16]

    def make(report: ProgressCallback) -> tuple[QuestionTable, Claimed]:
        table = read_table(content, name=name) if name else read_pasted(content.decode())
        return table, claim_table(table, progress=report)

    task = COMPARISONS.get_or_start(("claims", digest), make)
    table_and_claims = await_value(task, waiting="Reading the questions …")
    if table_and_claims is not None:
        _draw_claims(digest, *table_and_claims)


def _draw_claims(digest: str, table: QuestionTable, claimed: Claimed) -> None:
    """Draw counts, the table to edit, and the download."""
    count = len(claimed.claims)
    st.markdown(
        f"**{count_of(count, 'question')}:** {claimed.fallback:,} by a fallback rule "
        f"({claimed.fallback / count:.1%})"
    )
    uses = {rule: f"{rule} ({uses:,})" for rule, uses in claimed.counts()}
    selected_rules = st.multiselect(
        "Rules",
        list(uses),
        format_func=uses.__getitem__,
        key=f"claims-rules-{digest}",
        placeholder="All rules",
    )
    rows = [
        number
        for number, claim in enumerate(claimed.claims)
        if not selected_rules or claim.rule in selected_rules
    ]
    note = st.empty()  # above the table, whose buttons would cover the fields
    edits = _draw_editor(digest, table, claimed, rows)
    hint = f"{len(edits):,} edited, for this session" if edits else "double-click a claim to edit it"
    note.caption(f"{len(rows):,} shown · :material/edit: {hint}")
    draw_download("Claims (CSV)", "claims.csv", lambda: claim_rows(table, claimed, edits))


def _draw_editor(digest: str, table: QuestionTable, claimed: Claimed, rows: list[int]) -> dict[int, str]:
    """Draw some rows with editable claims; return all edits of the table."""
    written: dict[str, dict[int, str]] = st.session_state.setdefault("claims_table_edits", {})
    which = hashlib.sha256(repr(rows).encode()).hexdigest()[:12]
    key, base = f"claims-editor-{digest}-{which}", f"claims-base-{digest}-{which}"
    # The editor forgets its edits when its first data change while it is on screen.
    if key not in st.session_state or base not in st.session_state:
        st.session_state[base] = dict(written.get(digest, {}))

    def changed() -> None:
        edited: dict[int, dict[str, Any]] = widget_value(key)["edited_rows"]
        written[digest] = merge_edits(written.get(digest, {}), edited, rows, claimed)

    columns = st.column_config
    st.data_editor(
        editor_frame(table, claimed, rows, st.session_state[base]),
        key=key,
        on_change=changed,
        hide_index=True,
        height=min(420, 38 + 36 * len(rows)),
        disabled=["question", "answer", "rule", "no rule", "statement"],
        column_config={
            "question": columns.TextColumn("Question", width="medium"),
            "claim": columns.TextColumn("Claim", width="large", help="Double-click to edit.", max_chars=5000),
            "rule": columns.TextColumn("Rule", width="small"),
            "no rule": columns.CheckboxColumn("Fallback", width="small", help="No question rule fits."),
            "answer": columns.TextColumn("Answer", width="medium"),
            "statement": columns.TextColumn("With the answer", width="large"),
        },
    )
    return written.get(digest, {})


def editor_frame(
    table: QuestionTable, claimed: Claimed, rows: list[int], edits: dict[int, str]
) -> pd.DataFrame:
    """Return some rows for the editor."""
    claims = claimed.claims
    frame = {
        "question": [table.questions[row] for row in rows],
        "claim": [edits.get(row, claims[row].text) for row in rows],
        "rule": [claims[row].rule for row in rows],
        "no rule": [claims[row].fallback for row in rows],
    }
    if any(claimed.statements):
        stated = [claimed.statements[row] for row in rows]
        frame["answer"] = [table.answers[row] for row in rows]
        frame["statement"] = [statement.text if statement else "" for statement in stated]
    return pd.DataFrame(frame)
