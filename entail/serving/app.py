"""The API put together: a FastAPI application, to be served alone or mounted beside another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Body, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from entail.errors import EntailError, ServingError
from entail.serving.chain import CHAIN
from entail.serving.claim import CLAIM
from entail.serving.direction import DIRECTION
from entail.serving.encode import ENCODE
from entail.serving.endpoint import Endpoint
from entail.serving.failures import REASONS, as_refusal, refused_fields, reply
from entail.serving.intake import Intake, JsonRequest
from entail.serving.library import Library
from entail.serving.messages import ErrorReply
from entail.serving.search import SEARCH
from entail.serving.service import Service
from entail.serving.state import HEALTH, INFO, READY
from entail.version import __version__

ENDPOINTS: tuple[Endpoint, ...] = (ENCODE, SEARCH, DIRECTION, CLAIM, CHAIN, HEALTH, READY, INFO)
"""Everything that may be asked. A method joins by one more entry."""


class _JsonRoute(APIRoute):
    """A route whose body `Intake` has read."""

    def get_route_handler(self) -> Any:  # noqa: ANN401 - as FastAPI has it
        """Return what answers."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await answer(JsonRequest(request.scope, request.receive))

        return handle


def create_app(
    service: Service | None = None,
    *,
    token: str | None = None,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
) -> FastAPI:
    """Return the API.

    Encoders begin to load when it starts (its lifespan); when it ends, what waits is answered first. An
    application that mounts it runs its lifespan, or calls `service.start()` and `service.close()` itself.

    Args:
        service: What answers; default: every encoder and corpus of the installation.
        token: What clients have to send as `Authorization: Bearer ...`; None where anybody may ask.
        endpoints: What may be asked.
    """
    made = service or Service(Library())
    made.endpoints = tuple(endpoints)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        made.start()
        yield
        await run_in_threadpool(made.close)

    app = FastAPI(
        title="entail",
        summary="Encoders and premise search over your own corpora.",
        version=__version__,
        lifespan=lifespan,
        # The pages that show the document load their scripts from a CDN: the document alone is served.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
    )
    app.router.route_class = _JsonRoute
    for endpoint in endpoints:
        _add(app, made, endpoint)
    app.add_exception_handler(RequestValidationError, _on_fields)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(EntailError, _on_refusal)
    app.add_middleware(
        Intake,
        limits=made.limits,
        token=token,
        open_paths=frozenset(endpoint.path for endpoint in endpoints if endpoint.open),
    )
    _say_token(app, endpoints)
    return app


def _add(app: FastAPI, service: Service, endpoint: Endpoint) -> None:
    async def answered(request: Request, asked: Any) -> Response:  # noqa: ANN401 - the endpoint's own message
        found = await service.within(request, lambda call: endpoint.run(service, asked, call))
        return Response(
            found.model_dump_json(),
            status_code=endpoint.status_of(found) if endpoint.status_of else 200,
            media_type="application/json",
        )

    async def get(request: Request) -> Response:
        return await answered(request, None)

    async def post(request: Request, asked: Any) -> Response:  # noqa: ANN401 - annotated below
        return await answered(request, asked)

    # FastAPI reads what a body has to be from the annotation, which is the endpoint's own.
    post.__annotations__ = {"request": Request, "asked": Annotated[endpoint.asks, Body()], "return": Response}
    responses: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorReply, "description": REASONS[status]} for status in endpoint.refusals
    }
    if endpoint.status_of is not None:
        responses[503] = {"model": endpoint.answers, "description": "Not ready; says why."}
    app.add_api_route(
        endpoint.path,
        get if endpoint.asks is None else post,
        methods=[endpoint.method],
        status_code=200,
        response_model=endpoint.answers,
        summary=endpoint.summary,
        description=endpoint.description,
        operation_id=endpoint.name,
        name=endpoint.name,
        responses=responses,
    )


async def _on_fields(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return reply(refused_fields(error.errors()))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        told = ServingError("nothing is at this path; see /openapi.json", kind="not_found", status=404)
    elif error.status_code == 405:
        told = ServingError("this path has another method; see /openapi.json", kind="method", status=405)
    else:
        told = ServingError("the request cannot be understood", kind="bad_request", status=error.status_code)
    answer = reply(told)
    answer.headers.update({k: v for k, v in (error.headers or {}).items() if k.lower() == "allow"})
    return answer


async def _on_refusal(request: Request, error: Exception) -> Response:
    return reply(as_refusal(error))


def _say_token(app: FastAPI, endpoints: Sequence[Endpoint]) -> None:
    """Put the token into the OpenAPI document, which FastAPI does for its own security classes only."""
    make = app.openapi

    def document() -> dict[str, Any]:
        found = make()
        schemes = found.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["token"] = {
            "type": "http",
            "scheme": "bearer",
            "description": "Where the server was started with ENTAIL_SERVE_TOKEN.",
        }
        for endpoint in endpoints:
            if not endpoint.open:
                found["paths"][endpoint.path][endpoint.method.lower()]["security"] = [{"token": []}, {}]
        return found

    app.openapi = document  # type: ignore[method-assign]  # as FastAPI's manual has it
