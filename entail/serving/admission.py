"""Admission of requests: token and concurrency before the body is read, then body, form and deadline.

Limits on connections belong to uvicorn, see `app.serve`.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any, cast

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from entail.cancellation import cancelled_by
from entail.errors import ServingError
from entail.serving.batching import Call, current_call, timeout_error
from entail.serving.errors import error_response, to_serving_error
from entail.serving.limits import Limits


class AccessMiddleware:
    """ASGI middleware that checks the token, except on public paths, and answers unexpected exceptions.

    FastAPI reads a body before it solves dependencies, so a dependency could not refuse a request unread.
    """

    def __init__(
        self, app: ASGIApp, *, token: str | None = None, public: frozenset[str] = frozenset()
    ) -> None:
        self._app, self._public = app, public
        self._token = None if token is None else token.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or lifespan."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # which monitors send; the server leaves out the body of the answer
            scope = {**scope, "method": "GET"}
        started = False

        async def track(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if scope["path"].removeprefix(scope.get("root_path", "")) not in self._public:
                self._check_token(Headers(scope=scope))
            await self._app(scope, receive, track)
        except Exception as error:
            response = error_response(to_serving_error(error))
            if not started:
                await response(scope, receive, send)

    def _check_token(self, headers: Headers) -> None:
        if self._token is None:
            return
        authorization = headers.get("authorization", "")
        scheme, _, token = authorization.partition(" ")
        same = hmac.compare_digest(token.strip().encode("latin-1"), self._token)
        if not same or scheme.lower() != "bearer":
            raise ServingError(
                "expected the header 'Authorization: Bearer TOKEN' with this server's token, found "
                f"{'another one' if authorization else 'none'}",
                kind="unauthorized",
                status=401,
            )


class ApiRequest(Request):
    """A request whose body is read up to a limit of bytes and seconds, and parsed as strict JSON."""

    @property
    def limits(self) -> Limits:
        """Limits of the service."""
        return cast(Limits, self.app.state.service.limits)

    async def json(self) -> Any:  # noqa: ANN401 - JSON is of any type
        """Return the parsed body; `JSONDecodeError` if it is not JSON in UTF-8, or has NaN or infinity."""
        body = await self.body()
        try:
            return from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise json.JSONDecodeError(str(error), "", 0) from error

    async def body(self) -> bytes:
        """Return the body.

        Raises:
            ServingError: If it is too large, or does not arrive in time.
        """
        if hasattr(self, "_body"):
            return self._body
        most, seconds = self.limits.request_bytes, self.limits.body_seconds
        body, size = bytearray(), int(self.headers.get("content-length", "0"))
        try:
            async with asyncio.timeout(seconds):
                # uvicorn discards what is left of a body that is refused.
                stream = self.stream()
                while size <= most and (part := await anext(stream, b"")):
                    body += part
                    size = max(size, len(body))
        except TimeoutError as error:
            raise ServingError(
                f"expected the whole body within {seconds:g} seconds, found part of it",
                kind="slow",
                status=408,
            ) from error
        except ClientDisconnect as error:
            raise _bad_request("the connection ended before the body did") from error
        if size > most:
            raise ServingError(
                f"expected at most {most:,} bytes, found more; send several requests",
                kind="too_large",
                status=413,
            )
        self._body = bytes(body)
        return self._body


class ApiRoute(APIRoute):
    """A route that reads the body as `ApiRequest` does and answers before the deadline of the service.

    Attributes:
        is_limited: Whether its requests count among those at a time.
    """

    is_limited = True

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        respond = super().get_route_handler()

        async def handle(plain: Request) -> Response:
            request = ApiRequest(plain.scope, plain.receive)
            _check_form(request)
            await request.body()
            with request.app.state.service.admit() if self.is_limited else nullcontext():
                return await answer(request)

        async def answer(request: ApiRequest) -> Response:
            call = Call(request.limits.seconds)
            current_call.set(call)
            with cancelled_by(call.check):
                response = asyncio.ensure_future(respond(request))
            disconnect = asyncio.ensure_future(_wait_for_disconnect(request))
            tasks = (response, disconnect)
            try:
                await asyncio.wait(tasks, timeout=call.left, return_when=asyncio.FIRST_COMPLETED)
                if response.done():
                    return response.result()
                if disconnect.done():
                    raise ServingError("the client has disconnected", kind="gone", status=499)
                raise timeout_error()
            finally:
                call.cancel()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

        return handle


class PublicRoute(ApiRoute):
    """A route that answers at any load."""

    is_limited = False


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _check_form(request: Request) -> None:
    """Refuse a query string, a body with GET, and a body that is not plain JSON."""
    headers = request.headers
    if request.url.query:
        raise _bad_request("expected no query string, found one; put everything into the JSON body")
    if request.method == "GET":
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            raise _bad_request("expected no body with this method, found one")
        return
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" or headers.get("content-encoding", "identity") != "identity":
        raise ServingError(
            "expected an uncompressed body with 'Content-Type: application/json', found another one",
            kind="media_type",
            status=415,
        )


def _bad_request(message: str) -> ServingError:
    return ServingError(message, kind="bad_request", status=400)
