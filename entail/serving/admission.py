"""Admission of requests: token before the body is read, then form, body, concurrency and deadline."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from entail.cancellation import cancelled_by
from entail.errors import ServingError
from entail.runtime.batching import Call, current_call, timeout_error
from entail.serving.errors import error_response, to_serving_error
from entail.serving.service import ServiceDep, get_service


class AccessMiddleware:
    """ASGI middleware that checks the token except on public paths, and answers HEAD as GET.

    FastAPI reads a body before it solves dependencies, so a dependency could not refuse a request unread.
    """

    def __init__(
        self, app: ASGIApp, *, token: str | None = None, public: frozenset[str] = frozenset()
    ) -> None:
        self._app, self._public = app, public
        self._token = None if token is None else token.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or lifespan."""
        if scope["type"] == "http":
            if scope["method"] == "HEAD":  # which monitors send; the server leaves out the body of the answer
                scope = {**scope, "method": "GET"}
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            if path not in self._public and not self._is_authorised(Headers(scope=scope)):
                message = "expected the header 'Authorization: Bearer TOKEN' with the token of this server"
                refusal = error_response(ServingError(message, kind="unauthorized", status=401))
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_authorised(self, headers: Headers) -> bool:
        if self._token is None:
            return True
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_same = hmac.compare_digest(token.strip().encode("latin-1"), self._token)
        return is_same and scheme.lower() == "bearer"


async def admit(service: ServiceDep) -> AsyncIterator[None]:
    """Count a request while it is answered; a dependency of routes.

    Raises:
        ServingError: If too many are answered already.
    """
    if service.requests >= service.limits.requests:
        message = f"expected at most {service.limits.requests} requests at a time; try again later"
        raise ServingError(message, kind="busy", status=429, retry_after=1)
    service.requests += 1
    try:
        yield
    finally:
        service.requests -= 1


class ApiRequest(Request):
    """A request whose body is JSON of UTF-8, without NaN and infinity."""

    async def json(self) -> Any:
        """Return the parsed body."""
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError as error:
            raise json.JSONDecodeError(str(error), "", 0) from error

    async def read(self, *, most: int, seconds: float) -> None:
        """Read the body, which `body` returns then, up to a limit of bytes and seconds."""
        body, size = bytearray(), int(self.headers.get("content-length", "0"))
        try:
            async with asyncio.timeout(seconds):
                stream = self.stream()
                while size <= most and (part := await anext(stream, b"")):
                    body += part
                    size = max(size, len(body))
        except TimeoutError as error:
            message = f"expected the whole body within {seconds:g} seconds, found part of it"
            raise ServingError(message, kind="slow", status=408) from error
        except ClientDisconnect as error:
            raise _bad_request("the connection ended before the body did") from error
        if size > most:  # uvicorn discards what is left of it
            message = f"expected at most {most:,} bytes, found more; send several requests"
            raise ServingError(message, kind="too_large", status=413)
        self._body = bytes(body)


class ApiRoute(APIRoute):
    """A route that reads a limited body of plain JSON and answers before the deadline of the service."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        respond = super().get_route_handler()

        async def handle(plain: Request) -> Response:
            request = ApiRequest(plain.scope, plain.receive)
            limits = (await get_service(request)).limits
            _check_form(request)
            await request.read(most=limits.request_bytes, seconds=limits.body_seconds)
            call, deadline = Call(limits.seconds), asyncio.timeout(limits.seconds)
            current_call.set(call)
            disconnect = asyncio.ensure_future(_expire_on_disconnect(request, deadline))
            try:
                with cancelled_by(call.check):
                    async with deadline:
                        return await respond(request)
            except (HTTPException, RequestValidationError):
                raise
            except Exception as error:
                raise (timeout_error() if deadline.expired() else to_serving_error(error)) from error
            finally:
                call.cancel()
                disconnect.cancel()

        return handle


async def _expire_on_disconnect(request: Request, deadline: asyncio.Timeout) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    deadline.reschedule(0.0)


def _check_form(request: Request) -> None:
    """Refuse a body that is not plain JSON."""
    headers = request.headers
    if request.method == "GET":
        return
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" or headers.get("content-encoding", "identity") != "identity":
        message = "expected an uncompressed body with 'Content-Type: application/json', found another one"
        raise ServingError(message, kind="media_type", status=415)


def _bad_request(message: str) -> ServingError:
    return ServingError(message, kind="bad_request", status=400)
