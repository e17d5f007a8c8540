"""Download buttons of CSV files and of archives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from entail.data.spreadsheets import to_csv


def draw_download(label: str, name: str, make: Callable[[], Any]) -> None:
    """Draw a button that saves a file, which is made when the button is pressed.

    Args:
        label: Text of the button.
        name: Name of the file, and the button's key.
        make: Returns rows for a `.csv`, bytes for any other file.
    """
    is_table = name.endswith(".csv")
    st.download_button(
        label,
        lambda: to_csv(make()) if is_table else make(),
        file_name=name,
        mime="text/csv" if is_table else "application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
        key=name,
    )
