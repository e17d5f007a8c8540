"""A table of pairs: a file in, verdicts, CSV out with every column that was there."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.data.sentence_pairs import PairTable, read_pairs
from entail.data.text import is_blank
from entail.trees.formats.escaping import cell
from entail.ui.authoring import draw_progress
from entail.ui.compare_files import CSV, offer
from entail.ui.exchange import upload_limit
from entail.ui.resources import comparisons
from entail.ui.words import label

if TYPE_CHECKING:
    from entail.encoders.gaussian import GaussianEncoder
    from entail.gausscse.verdict import Verdict
    from entail.progress import ProgressCallback

MOST = 50_000
"""Pairs of one table."""

KINDS = ("csv", "tsv", "txt", "jsonl", "parquet", "gz")
"""Ends of names of files that can be uploaded; what a file is, its content tells."""

SHOWN_PROBLEMS = 3

FIGURES = ("says", "sure", "margin", "forward", "backward", "direction")
"""What is said of a pair, as `Verdict` calls it."""

ADDED = (*FIGURES, "truncated")


@dataclass(frozen=True)
class Judged:
    """What is said of the pairs of a table.

    Attributes:
        verdicts: One a row; None where a sentence is empty.
    """

    verdicts: tuple[Verdict | None, ...]

    @property
    def truncated(self) -> tuple[bool, ...]:
        """Whether of either sentence only the beginning was judged, one a row."""
        return tuple(verdict is not None and bool(verdict.truncated) for verdict in self.verdicts)

    def __str__(self) -> str:
        said = [verdict.says for verdict in self.verdicts if verdict is not None]
        return ", ".join(f"{said.count(word):,} {word}" for word in dict.fromkeys(said)) or "none judged"


def draw_table(encoder: GaussianEncoder) -> None:
    """Draw the upload and the judged table."""
    st.caption(
        "CSV, TSV, JSONL or Parquet with two columns of sentences: first and second, premise and hypothesis, "
        "sentence1 and sentence2, sentence_A and sentence_B, or two columns of any names and no others. "
        "Other columns are kept."
    )
    file = st.file_uploader(
        "Pairs of sentences",
        type=list(KINDS),
        key="direction_file",
        max_upload_size=upload_limit(),
    )
    if file is None:
        return
    content = file.getvalue()
    table = read_pairs(content, name=file.name, most=MOST)
    draw_reading(table)

    def make(report: ProgressCallback) -> Judged:
        return judge_table(encoder, table, progress=report)

    place = ("direction", encoder.revision, file.name, hashlib.sha256(content).hexdigest())
    work = comparisons().take(place, make)
    if work.value is None:
        draw_progress(work, waiting="Encoding …")
        return
    draw_verdicts(table, work.value)


def draw_reading(table: PairTable) -> None:
    """Say which columns were taken for the two sentences, and which rows were left out."""
    first, second = (label(table.header[place], longest=80) for place in table.columns)
    if table.named:
        st.caption(f"First sentence: column “{first}”; second sentence: column “{second}”.")
    else:
        st.warning(
            f"The first row was taken for the names of two columns, “{first}” for the first sentence and "
            f"“{second}” for the second. If it is a pair itself, put a row with names above it.",
            icon=":material/table_rows:",
        )
    if table.unreadable:
        told = " ".join(f"{label(problem, longest=400)}." for problem in table.problems[:SHOWN_PROBLEMS])
        more = " …" if table.unreadable > SHOWN_PROBLEMS else ""
        st.warning(
            f"Rows left out, for they cannot be read: {table.unreadable:,}. {told}{more}",
            icon=":material/rule:",
        )


def judge_table(
    encoder: GaussianEncoder, table: PairTable, *, progress: ProgressCallback | None = None
) -> Judged:
    """Judge every row that has two sentences.

    Raises:
        EncoderError: If the encoder cannot be loaded.
    """
    from entail.gausscse.verdict import judge

    pairs = list(zip(table.first, table.second, strict=True))
    whole = [row for row, pair in enumerate(pairs) if not any(map(is_blank, pair))]
    verdicts: list[Verdict | None] = [None] * len(pairs)
    found = judge(encoder, [pairs[r][0] for r in whole], [pairs[r][1] for r in whole], progress=progress)
    for row, verdict in zip(whole, found, strict=True):
        verdicts[row] = verdict
    return Judged(tuple(verdicts))


def draw_verdicts(table: PairTable, judged: Judged) -> None:
    """Draw verdicts as a table, with their counts and as a file."""
    import pandas as pd

    st.markdown(f"**{len(table.rows):,} pairs:** {label(str(judged))}")
    empty, truncated = judged.verdicts.count(None), sum(judged.truncated)
    if empty:
        st.warning(f"Not judged, for a sentence is empty: {empty:,}.", icon=":material/rule:")
    if truncated:
        st.warning(
            f"Truncated: of {truncated:,} pairs a sentence is longer than what the encoder reads, and only "
            "its beginning was judged.",
            icon=":material/content_cut:",
        )
    rows = zip(table.first, table.second, judged.verdicts, strict=True)
    shown = pd.DataFrame(
        [
            [first, _figure(said, "says"), second, *(_figure(said, n) for n in FIGURES[1:])]
            for first, second, said in rows
        ],
        columns=["first", "says", "second", *FIGURES[1:]],
    )
    numbers = {name: st.column_config.NumberColumn(format="%.3f") for name in FIGURES[1:]}
    texts = {name: st.column_config.TextColumn(width="large") for name in ("first", "second")}
    st.dataframe(shown, hide_index=True, column_config=texts | numbers)
    renamed = {name: free for name, free in added_columns(table.header).items() if name != free}
    if renamed:
        told = ", ".join(f"{free} for {name}" for name, free in renamed.items())
        st.info(
            "The table has columns of the same names, which are kept: in the CSV what is said here stands "
            f"under other ones, {label(told)}.",
            icon=":material/view_column:",
        )
    offer("Verdicts (CSV)", verdicts_csv(table, judged), name="direction.csv", kind=CSV)


def verdicts_csv(table: PairTable, judged: Judged) -> str:
    """Return the table with what is said of each pair behind it; texts stand as `cell` guards them."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*map(cell, table.header), *added_columns(table.header).values()])
    for row, verdict, truncated in zip(table.rows, judged.verdicts, judged.truncated, strict=True):
        figures = [_figure(verdict, name) for name in FIGURES]
        writer.writerow([*map(cell, row), *figures, int(truncated)])
    return out.getvalue()


def added_columns(header: Sequence[str]) -> dict[str, str]:
    """Return each column that is added -> its name behind such a header, of which no column is given up.

    >>> added_columns(["premise", "hypothesis", "Says"])["says"]
    'judged_says'
    """
    taken = {name.strip().lower() for name in header}
    names: dict[str, str] = {}
    for name in ADDED:
        free = name
        while free in taken:
            free = f"judged_{free}"
        taken.add(free)
        names[name] = free
    return names


def _figure(verdict: Verdict | None, name: str) -> object:
    return None if verdict is None else getattr(verdict, name)
