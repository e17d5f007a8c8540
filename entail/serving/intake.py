"""What a request has to get past before anybody looks at what it says: token, size, type, form."""

from __future__ import annotations

import asyncio
import hmac
import logging
from typing import Any

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from entail.errors import ServingError
from entail.serving.failures import as_refusal, reply
from entail.serving.limits import Limits
from entail.serving.strict_json import parse

_BODY, _JSON = "entail.body", "entail.json"
_DISCARDED = 8
"""So many times the longest body are read, and not kept, of one that is refused for its length."""

_PATIENCE = 2.0
"""Seconds in which the rest of it may come."""

_log = logging.getLogger("entail.serving")


class JsonRequest(Request):
    """A request whose body was read and understood by `Intake`."""

    async def body(self) -> bytes:
        """Return the body."""
        return bytes(self.scope[_BODY])

    async def json(self) -> Any:  # noqa: ANN401 - JSON is of any type
        """Return what the body says."""
        return self.scope[_JSON]


class Intake:
    """ASGI middleware: lets through what has the token, is small enough and is JSON; answers for the rest.

    Nothing of a body is read without the token, no more of it than the limit, and nothing is
    decompressed. An error that nobody expected is answered here as well.

    Args:
        app: What answers.
        limits: How much is taken on.
        token: What clients have to send, None where anybody may ask.
        open_paths: Paths that need no token and are answered however many requests there are.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits,
        token: str | None = None,
        open_paths: frozenset[str] = frozenset(),
    ) -> None:
        self._app, self._limits, self._open = app, limits, open_paths
        self._token = None if token is None else f"Bearer {token}".encode("ascii")
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def told(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        self._requests += 1
        try:
            await self._admit(scope, receive)
            await self._app(scope, receive, told)
        except Exception as error:
            # Whatever it is: nobody outside sees a trace.
            refusal = as_refusal(error)
            if not begun:
                await reply(refusal)(scope, receive, send)
        finally:
            self._requests -= 1

    async def _admit(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        is_open = scope["path"].removeprefix(scope.get("root_path", "")) in self._open
        if not is_open:
            self._check_token(headers)
            if self._requests > self._limits.requests:
                raise ServingError(
                    f"expected at most {self._limits.requests} requests at a time; try again later",
                    kind="busy",
                    status=429,
                    retry_after=1,
                )
        if scope["query_string"]:
            raise _bad("expected no query string, found one; put everything into the JSON body")
        if scope["method"] != "POST":
            await self._check_no_body(headers)
            return
        self._check_type(headers)
        body = await self._read(receive, refused=self._says_too_large(headers))
        scope[_BODY] = body
        scope[_JSON] = parse(body, nesting=self._limits.nesting)

    def _check_token(self, headers: Headers) -> None:
        if self._token is None:
            return
        said = headers.getlist("authorization")
        given = said[0].encode("latin-1") if len(said) == 1 else b""
        scheme, _, token = given.partition(b" ")
        if not hmac.compare_digest(b"Bearer " + token.strip(), self._token) or scheme.lower() != b"bearer":
            raise ServingError(
                "expected the header 'Authorization: Bearer TOKEN' with this server's token, found "
                f"{'another one' if said else 'none'}",
                kind="unauthorized",
                status=401,
            )

    def _check_type(self, headers: Headers) -> None:
        said = headers.getlist("content-type")
        kind, *parameters = [part.strip().lower() for part in (said[0] if len(said) == 1 else "").split(";")]
        charset = [p.partition("=")[2].strip('"') for p in parameters if p.startswith("charset=")]
        if kind != "application/json" or any(c not in ("utf-8", "utf8") for c in charset):
            raise ServingError(
                "expected 'Content-Type: application/json', in UTF-8, found "
                f"{'another one' if said else 'none'}",
                kind="media_type",
                status=415,
            )
        if any(c.strip().lower() != "identity" for c in headers.getlist("content-encoding")):
            raise ServingError(
                "expected a body as it is, found a compressed one", kind="media_type", status=415
            )

    async def _check_no_body(self, headers: Headers) -> None:
        if headers.get("content-length", "0").strip("0") or "transfer-encoding" in headers:
            raise _bad("expected no body with this method, found one")

    def _says_too_large(self, headers: Headers) -> bool:
        length = headers.get("content-length")
        if length is None:
            return False
        if not (length.isascii() and length.isdigit()):
            raise _bad("expected a Content-Length in digits, found something else")
        if len(length) > 12 or int(length) > _DISCARDED * self._limits.request_bytes:
            raise self._too_large()
        return int(length) > self._limits.request_bytes

    async def _read(self, receive: Receive, *, refused: bool) -> bytes:
        """Return the body; of one that is too large nothing is kept, but its end is waited for.

        A client that is answered while it still sends has its connection reset, and reads no answer.
        """
        parts: list[bytes] = []
        size, limit = 0, self._limits.request_bytes
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._limits.body_seconds) as patience:
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _bad("the connection ended before the body did")
                    part = message.get("body", b"")
                    size += len(part)
                    refused = refused or size > limit
                    if refused:
                        parts.clear()
                        patience.reschedule(min(patience.when() or began, began + _PATIENCE))
                    else:
                        parts.append(part)
                    if not message.get("more_body", False) or size > _DISCARDED * limit:
                        break
            if refused:
                raise self._too_large()
            return b"".join(parts)
        except TimeoutError as error:
            if refused:
                raise self._too_large() from error
            raise ServingError(
                f"expected the whole body within {self._limits.body_seconds:g} seconds, found part of it",
                kind="slow",
                status=408,
            ) from error

    def _too_large(self) -> ServingError:
        return ServingError(
            f"expected at most {self._limits.request_bytes:,} bytes, found more; send several requests",
            kind="too_large",
            status=413,
        )


def _bad(message: str) -> ServingError:
    return ServingError(message, kind="bad_request", status=400)
