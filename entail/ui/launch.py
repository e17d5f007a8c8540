"""Start of the app, which preloads the imports of the first page while the server starts."""

from __future__ import annotations

import os
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import entail
from entail.errors import SettingsError
from entail.operations.logs import app_log
from entail.settings import load_settings
from entail.ui.app import ASGI, FOLDER


def launch(*, port: int = 8501, address: str | None = None, api: bool = False) -> None:
    """Serve the app until it is stopped; copy its stderr into a log in the data folder.

    Args:
        port: Port to listen on.
        address: Address to listen on; all addresses by default.
        api: Serve the HTTP API, too.

    Raises:
        SettingsError: If the API has no token although the pages require sign-in, or secrets beside the
            package would not be read.
    """
    _check_secrets()
    options = {**_packaged_options(), "server.port": port}
    if address is not None:
        options["server.address"] = address
    flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    # Charts in one thread and scikit-learn in another would import its halves in opposite orders, which
    # Python ends by an error.
    import narwhals.stable  # noqa: F401 - loaded before there are threads

    with app_log(load_settings().data_dir / "log" / "app.log"):
        threading.Thread(target=_prepare, name="prepare", daemon=True).start()
        from streamlit.web import cli

        # Streamlit's own command reads its options from files and environment, and those of secrets too.
        cli.main(["run", str(ASGI), *flags, "--", *(["--api"] if api else [])], standalone_mode=False)


def _check_secrets() -> None:
    """Refuse to leave the secrets of a checkout unread, for sign-in would be off without a word."""
    checkout = Path(entail.__file__).resolve().parents[1]
    path = Path(".streamlit", "secrets.toml")
    read = (path, Path.home() / path)
    if (
        (checkout / "streamlit_app.py").is_file()
        and (checkout / path).is_file()
        and not any(file.is_file() for file in read)
        and "STREAMLIT_SECRETS_FILES" not in os.environ
    ):
        raise SettingsError(
            f"expected the secrets in {path} of the folder where the app is started, or of your home, found "
            f"them beside the package; start it in {checkout}, or copy the file"
        )


def _packaged_options() -> dict[str, object]:
    """Return the web server's options of the package; none where the working folder has its own."""
    if Path(".streamlit", "config.toml").is_file():
        return {}
    return dict(_flatten(tomllib.loads((FOLDER / "config.toml").read_text(encoding="utf-8"))))


def _flatten(section: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _prepare() -> None:
    """Import the modules of the first page, which takes about a second."""
    import faiss  # noqa: F401 - loaded for the first page
    import pandas  # noqa: F401 - loaded for the first page
    import PIL.Image  # noqa: F401 - loaded for the first page

    from entail.index.lexical import load_bm25s
    from entail.ui.trees import (  # noqa: F401 - loaded for the first page
        authoring,
        candidates,
        chooser,
        dialogs,
        learning,
        proposals,
        toolbar,
        views,
    )

    load_bm25s()
