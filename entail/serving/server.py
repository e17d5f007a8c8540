"""Server of the API alone, by uvicorn."""

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
    """Serve until SIGTERM or Ctrl+C; pending requests are answered first.

    Args:
        host: Address to listen at; by default of this machine only.
        port: Port to listen at; 0 for any free one.
        encoders: Names of the encoders to serve; the first is the default if no encoder is active. By
            default all of the installation.
        workers: Number of processes, each with its own copy of the encoders.

    Raises:
        SettingsError: If the address is in use or unknown.
        EncoderError: If an encoder cannot be resolved.
    """
    import uvicorn

    from entail.encoders.catalogue import resolve

    for name in encoders:
        resolve(name)
    if host not in LOOPBACK and load_settings().serve_token is None:
        _log.warning("anybody who reaches %s can ask: set ENTAIL_SERVE_TOKEN, or listen at 127.0.0.1", host)
    # Worker processes create the application themselves, from the environment.
    os.environ[_ENCODERS] = "\n".join(encoders)
    # Limits on connections and their time belong here, those on requests into `admission`.
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
    # uvicorn raises the signal again when it is done, for the handler before its own.
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
                f"expected a free address to listen at, found {host}:{port} in use or unknown"
            )
    except SystemExit as stop:  # raised by uvicorn if it cannot listen
        raise SettingsError(
            f"expected a free address to listen at, found {host}:{port} in use or unknown"
        ) from stop
    finally:
        signal.signal(signal.SIGTERM, before)


def app_from_environment() -> FastAPI:
    """Return the API with token, encoders and data folder of the environment."""
    from entail.serving.app import create_app
    from entail.serving.library import Library
    from entail.serving.service import Service

    names = tuple(name for name in os.environ.get(_ENCODERS, "").split("\n") if name)
    service = Service(Library(names or None), warm=names or None)
    return create_app(service, token=load_settings().serve_token)
