"""Serves the API alone, by uvicorn: starts, answers, and ends only when everything is answered."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from entail.errors import SettingsError
from entail.settings import load_settings

if TYPE_CHECKING:
    from fastapi import FastAPI

PORT = 8600
LOOPBACK = ("127.0.0.1", "localhost", "::1")

_ENCODERS = "ENTAIL_SERVE_ENCODERS"
_log = logging.getLogger("entail.serving")


def serve(
    *, host: str = "127.0.0.1", port: int = PORT, encoders: Sequence[str] = (), workers: int = 1
) -> None:
    """Serve until SIGTERM or Ctrl+C; what is in flight is answered first.

    Args:
        host: Address to listen at; only this machine's own by default.
        port: Port to listen at; 0 for any that is free.
        encoders: Which encoders may be asked for, the first also by those who name none and nothing is
            promoted; default: all that are here.
        workers: Processes, each with its own copy of the encoders.

    Raises:
        SettingsError: If the address cannot be used.
        EncoderError: If an encoder cannot be had.
    """
    import uvicorn

    from entail.encoders.catalogue import resolve

    for name in encoders:
        resolve(name)
    if host not in LOOPBACK and load_settings().serve_token is None:
        _log.warning("anybody who reaches %s may ask: set ENTAIL_SERVE_TOKEN, or listen at 127.0.0.1", host)
    # Worker processes make the application themselves and know only the environment.
    os.environ[_ENCODERS] = "\n".join(encoders)
    config = uvicorn.Config(
        "entail.serving.server:app_from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_level="info",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=60,
    )
    # uvicorn sends itself the signal again when it is done, for whoever handled it before.
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        if workers > 1:
            from uvicorn.supervisors import Multiprocess

            Multiprocess(config, sockets=[config.bind_socket()]).run()
            return
        server = uvicorn.Server(config)
        server.run()
        if not server.started:
            raise SettingsError(
                f"expected a free address to listen at, found {host}:{port} in use or not here"
            )
    except SystemExit as stop:  # how uvicorn ends when it cannot listen
        raise SettingsError(
            f"expected a free address to listen at, found {host}:{port} in use or not here"
        ) from stop
    finally:
        signal.signal(signal.SIGTERM, before)


def app_from_environment() -> FastAPI:
    """Return the API as the environment says: token, encoders, data folder."""
    from entail.serving.app import create_app
    from entail.serving.library import Library
    from entail.serving.service import Service

    names = tuple(name for name in os.environ.get(_ENCODERS, "").split("\n") if name)
    service = Service(Library(names or None), warm=names or None)
    return create_app(service, token=load_settings().serve_token)
