"""Download buttons, and their files as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import streamlit as st

from entail.trees.formats.text import escape_cell

CSV, JSON = "text/csv", "application/json"


def draw_download(label: str, content: Any, *, name: str, kind: str) -> None:  # noqa: ANN401 - as Streamlit takes it
    """Draw a button that saves a file; a function as content is called when it is pressed."""
    st.download_button(
        label, content, file_name=name, mime=kind, icon=":material/download:", on_click="ignore", key=name
    )


def table_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows, the header first, as CSV without formulas, see `escape_cell`."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows(
        [escape_cell(value) if isinstance(value, str) else value for value in row] for row in rows
    )
    return out.getvalue()


def rows_csv(rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows of equal fields as CSV, as `table_csv`; an empty text if there is no row."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return ""
    return table_csv([list(first), *(list(row.values()) for row in chain([first], rows))])


def to_json(value: Any) -> str:  # noqa: ANN401 - JSON is of any type
    """Return a JSON file."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
