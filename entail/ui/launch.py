"""Starts the app, and loads what its first page needs while the server comes up and the browser draws.

With `api` the HTTP API answers under `/api` on the same port, by the same encoders in memory: Streamlit's
own ASGI application takes it as a route (`st.App`, see docs/serving.md).
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import entail
from entail.errors import SettingsError
from entail.operations.logs import app_log
from entail.settings import load_settings

if TYPE_CHECKING:
    import streamlit as st

API = "/api"
"""Where the API is, beside the pages."""

_log = logging.getLogger("entail.serving")


def launch(*, port: int = 8501, address: str | None = None, api: bool = False) -> None:
    """Serve the app until it is stopped; what it says on stderr is kept in the data folder, too.

    Args:
        port: Port to listen at.
        address: Address to listen at; all of this machine's by default.
        api: Answer the HTTP API, too.

    Raises:
        SettingsError: If the pages are not beside the package, as in a checkout they are; or if the API
            would let anybody ask where the pages want them to sign in.
    """
    root = Path(entail.__file__).resolve().parents[1]
    script = root / "streamlit_app.py"
    if not script.is_file():
        raise SettingsError(
            "the pages are not beside the package: the app runs from a checkout of the project (make app)"
        )
    # Streamlit reads .streamlit/config.toml of the folder it runs in.
    os.chdir(root)
    with app_log(load_settings().data_dir / "log" / "app.log"):
        threading.Thread(target=_prepare, name="prepare", daemon=True).start()
        if api:
            _run_with_api(script, port=port, address=address)
            return
        from streamlit.web import cli

        options = ["--server.port", str(port)]
        if address is not None:
            options += ["--server.address", address]
        cli.main(["run", str(script), *options], standalone_mode=False)


def app_with_api(script: Path) -> st.App:
    """Return the pages and, under `/api`, the HTTP API, as one ASGI application.

    Raises:
        SettingsError: If the pages want people to sign in and the API has no token to ask for.
    """
    import streamlit as st
    from starlette.concurrency import run_in_threadpool
    from starlette.routing import Mount

    from entail.serving.app import create_app
    from entail.serving.library import Library
    from entail.serving.service import Service
    from entail.ui import sign_in
    from entail.ui.resources import shelf

    token = load_settings().serve_token
    if token is None and sign_in.wanted():
        raise SettingsError(
            "the pages want people to sign in, and the API beside them would let anybody ask: expected "
            "ENTAIL_SERVE_TOKEN, found none; set it, or leave --api out"
        )
    service = Service(Library(encoder_of=lambda name: shelf().encoder(name)))

    @asynccontextmanager
    async def lifespan(_: st.App) -> AsyncIterator[None]:
        # A mounted application's own lifespan does not run.
        service.start()
        yield
        await run_in_threadpool(service.close)

    return st.App(script, routes=[Mount(API, create_app(service, token=token))], lifespan=lifespan)


def _run_with_api(script: Path, *, port: int, address: str | None) -> None:
    from entail.serving.server import LOOPBACK

    app = app_with_api(script)
    if address not in LOOPBACK and load_settings().serve_token is None:
        _log.warning(
            "anybody who reaches this machine may ask the API: set ENTAIL_SERVE_TOKEN, or --address 127.0.0.1"
        )
    # Streamlit takes its settings, pages and secrets from beside what it believes to have been started.
    sys.argv[:] = [str(script)]
    app.run(config={"server.port": port, **({} if address is None else {"server.address": address})})


def _prepare() -> None:
    """Import what the first page imports; a second of it, which no visitor need wait for."""
    import faiss  # noqa: F401 - loaded for the first page
    import pandas  # noqa: F401 - loaded for the first page
    import PIL.Image  # noqa: F401 - loaded for the first page

    from entail.ui import authoring, chooser, dialogs, views  # noqa: F401 - loaded for the first page
    from entail.ui.graph import prepare_graph

    prepare_graph()
