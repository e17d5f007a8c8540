"""A table of pairs: CSV in, verdicts, CSV out with every column that was there."""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.errors import EvaluationError, FormatError
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

COLUMNS = (
    ("first", "second"),
    ("premise", "hypothesis"),
    ("sentence1", "sentence2"),
    ("sentence_a", "sentence_b"),
)
"""Names of the two columns that are known; else the first two columns are taken."""

FIGURES = ("says", "sure", "margin", "forward", "backward", "direction")
"""What is said of a pair, as `Verdict` calls it."""

_ADDED = (*FIGURES, "truncated")


@dataclass(frozen=True)
class PairTable:
    """Pairs of sentences in a table of whatever columns.

    Attributes:
        header: Names of the columns.
        rows: Their values, as many a row as there are columns.
        columns: Positions of the first and the second sentence.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[int, int]

    @property
    def first(self) -> list[str]:
        """The first sentence of every row."""
        return [row[self.columns[0]] for row in self.rows]

    @property
    def second(self) -> list[str]:
        """The second ones."""
        return [row[self.columns[1]] for row in self.rows]


@dataclass(frozen=True)
class Judged:
    """What is said of the pairs of a table.

    Attributes:
        verdicts: One a row; None where a sentence is empty.
        truncated: Whether of either sentence only the beginning was judged, one a row.
    """

    verdicts: tuple[Verdict | None, ...]
    truncated: tuple[bool, ...]

    def __str__(self) -> str:
        said = [verdict.says for verdict in self.verdicts if verdict is not None]
        return ", ".join(f"{said.count(word):,} {word}" for word in dict.fromkeys(said)) or "none judged"


def draw_table(encoder: GaussianEncoder) -> None:
    """Draw the upload and the judged table."""
    st.caption(
        "A CSV with a header and two columns of sentences: first and second, premise and hypothesis, "
        "sentence1 and sentence2, or just the first two. Other columns are kept."
    )
    file = st.file_uploader(
        "Pairs of sentences (CSV)",
        type=["csv", "tsv"],
        key="direction_file",
        max_upload_size=upload_limit(),
    )
    if file is None:
        return
    content = file.getvalue()
    table = read_pairs(content, name=file.name)

    def make(report: ProgressCallback) -> Judged:
        return judge_table(encoder, table, progress=report)

    place = ("direction", encoder.revision, file.name, hashlib.sha256(content).hexdigest())
    work = comparisons().take(place, make)
    if work.value is None:
        draw_progress(work, waiting="Encoding …")
        return
    draw_verdicts(table, work.value)


def judge_table(
    encoder: GaussianEncoder, table: PairTable, *, progress: ProgressCallback | None = None
) -> Judged:
    """Judge every row that has two sentences.

    Raises:
        EncoderError: If the encoder cannot be loaded.
    """
    from entail.gausscse.verdict import judge

    pairs = list(zip(table.first, table.second, strict=True))
    whole = [row for row, pair in enumerate(pairs) if all(text.strip() for text in pair)]
    verdicts: list[Verdict | None] = [None] * len(pairs)
    found = judge(encoder, [pairs[r][0] for r in whole], [pairs[r][1] for r in whole], progress=progress)
    for row, verdict in zip(whole, found, strict=True):
        verdicts[row] = verdict
    texts = list(dict.fromkeys(text for row in whole for text in pairs[row]))
    cut = dict(zip(texts, encoder.cut(texts), strict=True))
    return Judged(tuple(verdicts), tuple(any(cut.get(text, False) for text in pair) for pair in pairs))


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
    offer("Verdicts (CSV)", verdicts_csv(table, judged), name="direction.csv", kind=CSV)


def verdicts_csv(table: PairTable, judged: Judged) -> str:
    """Return the table with what is said of each pair behind it; texts stand as `cell` guards them."""
    kept = [place for place, name in enumerate(table.header) if name.strip().lower() not in _ADDED]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*(cell(table.header[place]) for place in kept), *_ADDED])
    for row, verdict, truncated in zip(table.rows, judged.verdicts, judged.truncated, strict=True):
        figures = [_figure(verdict, name) for name in FIGURES]
        writer.writerow([*(cell(row[place]) for place in kept), *figures, int(truncated)])
    return out.getvalue()


def _figure(verdict: Verdict | None, name: str) -> object:
    return None if verdict is None else getattr(verdict, name)


def read_pairs(content: bytes, *, name: str) -> PairTable:
    """Return the pairs of a table; rows without any text are left out.

    Raises:
        FormatError: If it cannot be read, or has no two columns.
        EvaluationError: If it has no rows, or too many.
    """
    from entail.data.reading import read_text

    text = read_text(content, name=name)
    delimiter = "\t" if name.lower().endswith(".tsv") else ","
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error as error:
        raise FormatError(f"{name}: expected a table, found one that cannot be read: {error}") from error
    header = tuple(rows[0]) if rows else ()
    titles = [title.strip().lower() for title in header]
    if len(titles) < 2:
        raise FormatError(f"{name}: expected a header of at least two columns, found {len(titles)}")
    known = next((pair for pair in COLUMNS if set(pair) <= set(titles)), None)
    columns = (titles.index(known[0]), titles.index(known[1])) if known else (0, 1)
    body = [
        (number, row) for number, row in enumerate(rows[1:], start=2) if any(field.strip() for field in row)
    ]
    if short := next((number for number, row in body if len(row) <= max(columns)), None):
        raise FormatError(f"{name}: expected two sentences in every row, found fewer in row {short}")
    if not 0 < len(body) <= MOST:
        raise EvaluationError(f"{name}: expected 1 to {MOST:,} pairs, found {len(body):,}")
    whole = (tuple(row[: len(header)]) + ("",) * (len(header) - len(row)) for _, row in body)
    return PairTable(header, tuple(whole), columns)
