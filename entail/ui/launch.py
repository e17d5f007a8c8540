"""Start of the app, which preloads the imports of the first page while the server starts."""

from __future__ import annotations

import os
import threading
from importlib import import_module
from pathlib import Path

import entail
from entail.errors import SettingsError
from entail.operations.logs import app_log
from entail.settings import load_settings
from entail.ui.app import ASGI


def launch(*, port: int = 8501, address: str | None = None, api: bool = False) -> None:
    """Serve the app until it is stopped; copy its stderr into a log in the data folder.

    Args:
        port: Port to listen on.
        address: Address to listen on; all addresses by default.
        api: Serve the HTTP API, too.

    Raises:
        SettingsError: If the API has no token although the pages require sign-in, the secrets cannot be
            used, or secrets next to the package would not be read.
    """
    _check_secrets()
    flags = ["--server.port", str(port), *(["--server.address", address] if address is not None else [])]
    # Charts in one thread and scikit-learn in another would import its halves in opposite orders, which
    # Python ends by an error.
    import narwhals.stable  # noqa: F401 - loaded before there are threads

    with app_log(load_settings().data_dir / "log" / "app.log"):
        threading.Thread(target=_prepare, name="prepare", daemon=True).start()
        from streamlit.web import cli

        # Streamlit reads `.streamlit/config.toml` next to the script, and environment variables over it.
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
        and not os.environ.get("STREAMLIT_SECRETS_FILES", "").strip()
    ):
        raise SettingsError(
            f"expected the secrets in {path} of the folder where the app is started, or of your home, found "
            f"them next to the package; start it in {checkout}, or copy the file"
        )


def _prepare() -> None:
    """Import the modules of the first page, which takes about a second."""
    from entail.index.lexical import load_bm25s

    pages = (f"entail.ui.trees.{name}" for name in ("chooser", "toolbar", "views"))
    for module in ("faiss", "pandas", "PIL.Image", *pages):
        import_module(module)
    load_bm25s()
