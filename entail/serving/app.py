"""FastAPI application of the API, and its server."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from entail.errors import SettingsError
from entail.index.shared import prune_shared, share_vectors
from entail.memory import CACHE
from entail.serving import routes
from entail.serving.admission import AccessMiddleware
from entail.serving.errors import add_error_handlers, error_responses
from entail.serving.metrics import MetricsMiddleware, monitoring
from entail.serving.service import Service
from entail.settings import load_settings
from entail.version import __version__

PORT = 8600
LOOPBACK = ("127.0.0.1", "localhost", "::1")

CONNECTIONS = 800
"""Open connections from which on requests get a 503; with files, below the 1,024 that many systems allow."""

_log = logging.getLogger("entail.serving")
_BEARER = HTTPBearer(
    scheme_name="token",
    description="Required if the server was started with ENTAIL_SERVE_TOKEN.",
    auto_error=False,  # `AccessMiddleware` checks it, before the body is read
)


def create_app(service: Service | None = None, *, token: str | None = None) -> FastAPI:
    """Return the API.

    Encoders begin to load when its lifespan starts; when it ends, pending requests are answered first. An
    application that mounts the API calls `service.start()` and `service.close()` in its own lifespan.

    Args:
        service: Encoders, corpora and scorers; by default all of the installation.
        token: Token that clients send as `Authorization: Bearer ...`; None for an open API.
    """
    service = service or Service()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await run_in_threadpool(service.close)

    app = FastAPI(
        title="entail",
        summary="Encoders and premise search over your own corpora.",
        version=__version__,
        lifespan=lifespan,
        # The documentation pages load scripts from a CDN, so only the document itself is served.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.service = service
    for router in (routes.queries, routes.state, monitoring):
        app.include_router(router, dependencies=[Depends(_BEARER)], responses=error_responses(401))
    app.include_router(routes.public)
    add_error_handlers(app)
    public = frozenset(route.path for route in routes.public.routes if isinstance(route, APIRoute))
    app.add_middleware(AccessMiddleware, token=token, public=public)
    counted = {
        route.path for route in routes.queries.routes + routes.state.routes if isinstance(route, APIRoute)
    }
    app.add_middleware(MetricsMiddleware, endpoints=frozenset(counted))
    return app


def serve(
    *, host: str = "127.0.0.1", port: int = PORT, encoders: Sequence[str] = (), workers: int = 1
) -> None:
    """Serve until SIGTERM or Ctrl+C; pending requests are answered first.

    Args:
        host: Address to listen at; by default of this machine only.
        port: Port to listen at; 0 for any free one.
        encoders: Names of the encoders to serve; the first is the default if no encoder is active. By
            default all of the installation.
        workers: Processes that answer. They share the vectors of large indexes; one that ends is replaced.

    Raises:
        SettingsError: If the address is in use or unknown.
        EncoderError: If an encoder cannot be resolved.
    """
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from entail.encoders.catalogue import resolve

    for name in encoders:
        resolve(name)
    if host not in LOOPBACK and load_settings().serve_token is None:
        _log.warning("anybody who reaches %s can ask: set ENTAIL_SERVE_TOKEN, or listen at 127.0.0.1", host)
    options: dict[str, Any] = {
        "factory": True,
        "http": "h11",
        "ws": "none",
        "host": host,
        "port": port,
        "access_log": False,
        "server_header": False,
        "limit_concurrency": CONNECTIONS,
        "timeout_keep_alive": 30,
        "timeout_graceful_shutdown": 60,
        "timeout_worker_healthcheck": 60,
    }
    # uvicorn raises the signal again when it is done, for the handler before its own.
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        if workers == 1:
            uvicorn.run(partial(_make_app, tuple(encoders)), **options)
        else:
            make = partial(_make_worker, tuple(encoders), workers)
            config = uvicorn.Config(make, **options, workers=workers)
            Multiprocess(config, [config.bind_socket()]).run()
            prune_shared()
    except SystemExit:  # raised by uvicorn if it cannot listen
        message = f"expected a free address to listen at, found {host}:{port} in use or unknown"
        raise SettingsError(message) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _make_app(encoders: tuple[str, ...]) -> FastAPI:
    return create_app(Service(encoders or None), token=load_settings().serve_token)


def _make_worker(encoders: tuple[str, ...], workers: int) -> FastAPI:
    """Return the application of a process among several, which ends with the one that started it.

    Each has an equal part of the bytes that a single process would cache; shared vectors count once for all.
    """

    def follow(parent: BaseProcess) -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    if (parent := parent_process()) is not None:
        threading.Thread(target=follow, args=(parent,), name="parent", daemon=True).start()
    share_vectors(workers)
    CACHE.budget //= workers
    return _make_app(encoders)
