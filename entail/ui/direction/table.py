"""Verdicts on an uploaded table of pairs."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import streamlit as st

from entail.data.nli.sentence_pairs import PairTable, read_pairs
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.gausscse.verdict import FIGURES, JudgedTable, judge_table
from entail.runtime.tasks import COMPARISONS
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.form import upload_limit
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

_MOST = 50_000
"""Most pairs of one table."""

_KINDS = ("csv", "tsv", "txt", "jsonl", "parquet", "gz")
_PROBLEMS_SHOWN = 3


def draw_table(encoder: GaussianEncoder) -> None:
    """Draw the upload and its verdicts."""
    st.caption("CSV, TSV, JSONL or Parquet with two columns of sentences. Other columns are kept.")
    file = st.file_uploader(
        "Pairs of sentences", type=_KINDS, key="direction_file", max_upload_size=upload_limit()
    )
    if file is None:
        return
    content = file.getvalue()
    table = read_pairs(content, name=file.name, most=_MOST)
    digest = hashlib.sha256(content).hexdigest()
    if not table.named:
        table = _pick_columns(table, key=digest)
    _draw_reading(table)
    key = ("direction", encoder.revision, file.name, digest, *table.columns)
    task = COMPARISONS.get_or_start(key, lambda report: judge_table(encoder, table, progress=report))
    if (judged := await_value(task, waiting="Encoding …")) is not None:
        _draw_verdicts(judged)


def _pick_columns(table: PairTable, *, key: str) -> PairTable:
    """Draw the fields for the two columns, the likely ones first."""
    picked = [
        field.selectbox(
            title,
            range(len(table.header)),
            index=likely,
            format_func=lambda number: f"{number + 1}: {table.header[number]}",
            key=f"direction_column-{likely}-{key}",
        )
        for field, title, likely in zip(
            st.columns(2), ("First sentence", "Second sentence"), table.columns, strict=True
        )
    ]
    return replace(table, columns=(picked[0], picked[1]))


def _draw_reading(table: PairTable) -> None:
    """Draw which columns hold the sentences, and which rows were left out."""
    first, second = (label(table.header[column], longest=80) for column in table.columns)
    if table.named:
        st.caption(f"Columns: “{first}” and “{second}”.")
    else:
        st.warning(
            f"The first row was read as column names: “{first}” and “{second}”. If it is a pair, add a row "
            "with column names above it.",
            icon=":material/table_rows:",
        )
    if table.unreadable:
        details = " ".join(f"{label(problem, longest=400)}." for problem in table.problems[:_PROBLEMS_SHOWN])
        more = " …" if table.unreadable > _PROBLEMS_SHOWN else ""
        st.warning(
            f"Unreadable rows, left out: {table.unreadable:,}. {details}{more}", icon=":material/rule:"
        )


def _draw_verdicts(judged: JudgedTable) -> None:
    import pandas as pd

    table = judged.table
    st.markdown(f"**{len(table.rows):,} pairs:** {label(str(judged))}")
    if empty := judged.verdicts.count(None):
        st.warning(f"Not judged, empty sentence: {empty:,}.", icon=":material/rule:")
    if truncated := sum(judged.truncated):
        st.warning(
            f"Truncated: {truncated:,} pairs exceed the encoder's input.", icon=":material/content_cut:"
        )
    rows = zip(table.first, table.second, judged.figures(), strict=True)
    frame = pd.DataFrame(
        [[first, figures[0], second, *figures[1:]] for first, second, figures in rows],
        columns=["first", "says", "second", *FIGURES[1:]],
    )
    numbers = {name: st.column_config.NumberColumn(format="%.3f") for name in FIGURES[1:]}
    texts = {name: st.column_config.TextColumn(width="large") for name in ("first", "second")}
    st.dataframe(frame, hide_index=True, column_config=texts | numbers)
    if renamed := [f"{free} for {name}" for name, free in judged.columns.items() if name != free]:
        st.info(
            "The CSV renames added columns, as the table has columns of these names: "
            f"{label(', '.join(renamed))}.",
            icon=":material/view_column:",
        )
    draw_download("Verdicts (CSV)", "direction.csv", judged.to_rows)
