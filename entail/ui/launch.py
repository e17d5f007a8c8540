"""Starts the app, and loads what its first page needs while the server comes up and the browser draws."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import entail
from entail.errors import SettingsError


def launch(*, port: int = 8501, address: str | None = None) -> None:
    """Serve the app until it is stopped.

    Raises:
        SettingsError: If the pages are not beside the package, as in a checkout they are.
    """
    root = Path(entail.__file__).resolve().parents[1]
    script = root / "streamlit_app.py"
    if not script.is_file():
        raise SettingsError(
            "the pages are not beside the package: the app runs from a checkout of the project (make app)"
        )
    # Streamlit reads .streamlit/config.toml of the folder it runs in.
    os.chdir(root)
    threading.Thread(target=_prepare, name="prepare", daemon=True).start()
    from streamlit.web import cli

    options = ["--server.port", str(port)]
    if address is not None:
        options += ["--server.address", address]
    cli.main(["run", str(script), *options], standalone_mode=False)


def _prepare() -> None:
    """Import what the first page imports; a second of it, which no visitor need wait for."""
    import faiss  # noqa: F401 - loaded for the first page
    import pandas  # noqa: F401 - loaded for the first page
    import PIL.Image  # noqa: F401 - loaded for the first page

    from entail.ui import authoring, chooser, dialogs, views  # noqa: F401 - loaded for the first page
    from entail.ui.graph import prepare_graph

    prepare_graph()
