"""Parts of the app's ASGI application: middleware in front of pages and API, routes and lifespan.

With `--api`, the HTTP API answers under `/api` on the same port with the same encoders in memory, see
docs/serve.md.
"""

from __future__ import annotations

import hmac
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from entail.errors import SettingsError
from entail.settings import load_settings
from entail.ui.frame import sign_in
from entail.ui.links.route import base_path, share_routes

if TYPE_CHECKING:
    from entail.serving.service import Service

API = "/api"
"""Path of the API, below `base_path`."""

METRICS = "/_stcore/metrics"
"""Path of Streamlit's metrics."""

HUB_FRAMES = "https://huggingface.co https://*.hf.space"
"""Hosts that show a Space in a frame."""

_log = logging.getLogger("entail.serving")


def middleware() -> Sequence[Middleware]:
    """Return the middleware in front of pages and API."""
    return [Middleware(ProtectionMiddleware, token=load_settings().serve_token)]


def open_service() -> Service:
    """Return the service of the API, which shares the encoders of the pages.

    Raises:
        SettingsError: If the pages require sign-in and the API has no token.
    """
    from entail.serving.app import LOOPBACK
    from entail.serving.service import Service

    if load_settings().serve_token is None:
        if sign_in.is_configured():
            raise SettingsError(
                "the pages require sign-in, but the API is open: expected ENTAIL_SERVE_TOKEN, found none; "
                "set it, or leave --api out"
            )
        if st.get_option("server.address") not in LOOPBACK:
            _log.warning(
                "the API is open to anybody who reaches this machine: set ENTAIL_SERVE_TOKEN, or --address "
                "127.0.0.1"
            )
    return Service()


def routes(service: Service | None) -> Sequence[BaseRoute]:
    """Return the routes of read-only links, and of the API if there is a service for it."""
    if service is None:
        return share_routes()
    from entail.serving.app import create_app

    api = create_app(service, token=load_settings().serve_token)
    return [*share_routes(), Mount(f"{base_path()}{API}", api)]


def lifespan(service: Service | None) -> Callable[[st.App], AbstractAsyncContextManager[None]]:
    """Return the lifespan of the application, since that of a mounted application does not run."""

    @asynccontextmanager
    async def run(_: st.App) -> AsyncIterator[None]:
        if service is not None:
            from entail.serving.history import local_history

            service.start()
            local_history()
        yield
        if service is not None:
            await run_in_threadpool(service.close)

    return run


def security_headers(environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return the headers of every answer: framing is for this host, in a Space also for the Hub's pages."""
    headers = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
    if environment.get("SPACE_HOST"):
        # X-Frame-Options cannot name other hosts.
        return headers | {"Content-Security-Policy": f"frame-ancestors 'self' {HUB_FRAMES}"}
    return headers | {"Content-Security-Policy": "frame-ancestors 'self'", "X-Frame-Options": "SAMEORIGIN"}


class ProtectionMiddleware:
    """ASGI middleware that adds `security_headers` and refuses what sign-in closes.

    Streamlit has no option for such headers, and serves its metrics to everybody. The metrics need the token
    while reading needs sign-in. The API answers nothing while authors sign in and it has no token; the
    secrets may have come after the start.

    `token` is that of API and metrics, if there is one.
    """

    def __init__(self, app: ASGIApp, *, token: str | None) -> None:
        self._app, self._token = app, token
        self._headers = security_headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, websocket or lifespan."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def add_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        app = self._app
        if self._refuses(scope):
            app = PlainTextResponse("Sign-in is required here.", 401, {"WWW-Authenticate": "Bearer"})
        await app(scope, receive, add_headers)

    def _refuses(self, scope: Scope) -> bool:
        path: str = scope["path"].rstrip("/")
        if path.endswith(METRICS) and sign_in.is_required_to_read():
            return not self._has_token(Headers(scope=scope))
        if self._token is None and (path + "/").startswith(f"{base_path()}{API}/"):
            return sign_in.is_configured()
        return False

    def _has_token(self, headers: Headers) -> bool:
        header = headers.get("authorization", "").encode("latin-1")
        return self._token is not None and hmac.compare_digest(header, f"Bearer {self._token}".encode())
