"""Download buttons, whose files are written as their names end: CSV, JSON or bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

import streamlit as st

from entail.data.spreadsheets import to_csv


def draw_download(label: str, name: str, make: Callable[[], Any]) -> None:
    """Draw a button that saves a file, which is made when the button is pressed.

    Args:
        label: Text of the button.
        name: Name of the file, and the button's key.
        make: Returns rows for a `.csv`, a JSON value for a `.json`, bytes for a `.zip`.
    """
    kind, write = _FORMATS[PurePath(name).suffix]
    st.download_button(
        label,
        lambda: write(make()),
        file_name=name,
        mime=kind,
        icon=":material/download:",
        on_click="ignore",
        key=name,
    )


def to_json(value: Any) -> str:  # noqa: ANN401 - JSON is of any type
    """Return a JSON file."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


_FORMATS: Mapping[str, tuple[str, Callable[[Any], str | bytes]]] = {
    ".csv": ("text/csv", to_csv),
    ".json": ("application/json", to_json),
    ".zip": ("application/zip", bytes),
}
"""Type of a file and the function that writes it, by the end of its name."""
