"""Pages of the app as Streamlit runs them; the files at the top of a checkout lead here."""

from __future__ import annotations

import runpy
from pathlib import Path

FOLDER = Path(__file__).parent
"""Folder of the main script, its `pages` and the web server's `.streamlit/config.toml`."""

SCRIPT = FOLDER / "streamlit_app.py"
"""Main script: Home."""

ASGI = FOLDER / "asgi.py"
"""ASGI application of the pages, for `streamlit run`."""


def run_page(name: str) -> None:
    """Run a page's script, such as `pages/Trees.py`, as the running script of the session."""
    runpy.run_path(str(FOLDER / name), run_name="__main__")
