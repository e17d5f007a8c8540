"""Metrics of the API: requests are counted by a middleware, and `GET /metrics` shows the registry."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from entail.runtime.memory import publish_memory
from entail.runtime.metrics import IN_PROGRESS, METRICS, REQUESTS, SECONDS
from entail.runtime.shared_metrics import FOLDER, drop_ended
from entail.serving.admission import ApiRoute
from entail.serving.errors import GET_ERRORS, error_responses

monitoring = APIRouter(route_class=ApiRoute, responses=error_responses(*GET_ERRORS, 504))


def collect() -> Iterable[Metric]:
    """Return the metrics now, of all processes of the data folder."""
    return _registry().collect()


@monitoring.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,  # of PlainTextResponse errors would be documented as text, too
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics() -> PlainTextResponse:
    """Return requests, seconds, queues, batches and models in memory in the text format of Prometheus."""
    return PlainTextResponse(generate_latest(_registry()), media_type=CONTENT_TYPE_LATEST)


def _registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    publish_memory()
    # A cleaner of temporary files may have removed the folder.
    if FOLDER in os.environ and Path(os.environ[FOLDER]).is_dir():
        drop_ended("gauge_live*.db")
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # as published
    else:
        for metric in METRICS:
            registry.register(metric)
    return registry


class MetricsMiddleware:
    """ASGI middleware that counts and times the requests of some endpoints; other paths count as one."""

    def __init__(self, app: ASGIApp, *, endpoints: frozenset[str]) -> None:
        self._app, self._endpoints = app, endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or lifespan."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        if scope["type"] != "http" or path == "/metrics" or path.startswith("/health"):
            await self._app(scope, receive, send)
            return
        endpoint, status = path if path in self._endpoints else "other", "500"

        async def observe(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        start = time.perf_counter()
        with IN_PROGRESS.labels(endpoint).track_inprogress():
            try:
                await self._app(scope, receive, observe)
            finally:
                SECONDS.labels(endpoint).observe(time.perf_counter() - start)
                REQUESTS.labels(endpoint, status).inc()
