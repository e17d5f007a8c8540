"""Start of the app, which preloads the imports of the first page while the server starts.

With `api`, the HTTP API answers under `/api` on the same port with the same encoders in memory, as a route of
Streamlit's ASGI application (`st.App`, see docs/serving.md).
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import entail
from entail.errors import SettingsError
from entail.operations.logs import app_log
from entail.settings import load_settings
from entail.ui.app import FOLDER, SCRIPT

if TYPE_CHECKING:
    import streamlit as st

API = "/api"
"""Path of the API."""

_log = logging.getLogger("entail.serving")


def launch(*, port: int = 8501, address: str | None = None, api: bool = False) -> None:
    """Serve the app until it is stopped; copy its stderr into a log in the data folder.

    Args:
        port: Port to listen on.
        address: Address to listen on; all addresses by default.
        api: Serve the HTTP API, too.

    Raises:
        SettingsError: If the API has no token although the pages require sign-in.
    """
    script = _find_script()
    options = {**_packaged_options(), "server.port": port}
    if address is not None:
        options["server.address"] = address
    with app_log(load_settings().data_dir / "log" / "app.log"):
        threading.Thread(target=_prepare, name="prepare", daemon=True).start()
        if api:
            _run_with_api(script, options, address)
            return
        from streamlit.web import cli

        flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        cli.main(["run", str(script), *flags], standalone_mode=False)


def app_with_api(script: Path) -> st.App:
    """Return the pages with the HTTP API under `/api` as one ASGI application.

    Raises:
        SettingsError: If the pages require sign-in and the API has no token.
    """
    import streamlit as st
    from starlette.concurrency import run_in_threadpool
    from starlette.routing import Mount

    from entail.serving.app import create_app
    from entail.serving.library import Library
    from entail.serving.service import Service
    from entail.ui.frame import sign_in
    from entail.ui.shared.resources import model_cache

    token = load_settings().serve_token
    if token is None and sign_in.is_configured():
        raise SettingsError(
            "the pages require sign-in, but the API is open: expected ENTAIL_SERVE_TOKEN, found none; set "
            "it, or leave --api out"
        )
    service = Service(Library(encoder_of=lambda name: model_cache().encoder(name)))

    @asynccontextmanager
    async def lifespan(_: st.App) -> AsyncIterator[None]:
        # The lifespan of a mounted application does not run.
        service.start()
        yield
        await run_in_threadpool(service.close)

    return st.App(script, routes=[Mount(API, create_app(service, token=token))], lifespan=lifespan)


def _run_with_api(script: Path, options: dict[str, object], address: str | None) -> None:
    from entail.serving.app import LOOPBACK

    app = app_with_api(script)
    if address not in LOOPBACK and load_settings().serve_token is None:
        _log.warning(
            "the API is open to anybody who reaches this machine: set ENTAIL_SERVE_TOKEN, or --address "
            "127.0.0.1"
        )
    # Streamlit looks for settings, pages and secrets next to the started script.
    sys.argv[:] = [str(script)]
    app.run(config=options)


def _find_script() -> Path:
    """Return the main script: of the checkout, which becomes the working folder, else of the package."""
    checkout = Path(entail.__file__).resolve().parents[1] / "streamlit_app.py"
    if not checkout.is_file():
        return SCRIPT
    # Streamlit reads config and secrets from .streamlit in the working folder.
    os.chdir(checkout.parent)
    return checkout


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

    from entail.ui.components.graph import prepare_graph
    from entail.ui.trees import authoring, chooser, dialogs, views  # noqa: F401 - loaded for the first page

    prepare_graph()
