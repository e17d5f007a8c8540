"""FastAPI application of the API, to be served alone or mounted under another application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from entail.serving.admission import AccessMiddleware
from entail.serving.errors import add_error_handlers, error_responses
from entail.serving.library import Library
from entail.serving.routes import chain, claim, direction, encode, search, state
from entail.serving.service import Service
from entail.version import __version__

ROUTERS: tuple[APIRouter, ...] = (
    encode.router,
    search.router,
    direction.router,
    claim.router,
    chain.router,
    state.router,
)
"""Routers that ask for the token, in the order of the document."""

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
    service = service or Service(Library())

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
    for router in ROUTERS:
        app.include_router(router, dependencies=[Depends(_BEARER)], responses=error_responses(401))
    app.include_router(state.public)
    add_error_handlers(app)
    app.add_middleware(
        AccessMiddleware,
        limit=service.limits.requests,
        token=token,
        public=frozenset(route.path for route in state.public.routes if isinstance(route, APIRoute)),
    )
    return app
