"""Errors of the API, in one shape: ``{"error": {"kind": ..., "message": ..., "field": ...}}``."""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from entail import errors
from entail.errors import EntailError, ServingError
from entail.serving.messages import ErrorDetail, ErrorReply, explain

KINDS: Mapping[str, tuple[int, str]] = {
    "bad_request": (400, "a body that ends early, a request that is not HTTP"),
    "bad_json": (400, "a body that is not JSON in UTF-8; NaN and infinity are not JSON"),
    "unauthorized": (401, "a missing or wrong token"),
    "not_found": (404, "an unknown path"),
    "unknown_encoder": (404, "an encoder, retriever or scorer that is not served"),
    "unknown_corpus": (404, "an unknown corpus"),
    "method": (405, "a method that the path does not have"),
    "slow": (408, "a body that did not arrive in time"),
    "too_large": (413, "a body over the limit"),
    "media_type": (415, "a body that is not `application/json`, or compressed"),
    "invalid": (422, "a field that is unknown, missing, of another type or unusable"),
    "too_many": (422, "more texts, premises or hits than the limit"),
    "too_long": (422, "a text over the limit"),
    "busy": (429, "a full queue or too many requests; see `Retry-After`"),
    "internal": (500, "an unexpected error; its id in the message is in the server's log"),
    "encoder": (503, "weights that cannot be loaded"),
    "unavailable": (503, "a database or Hub out of reach"),
    "not_ready": (503, "an index in construction, or a server that shuts down; see `Retry-After`"),
    "timeout": (504, "an answer that took too long"),
}
"""Status of each kind of error, and when it is answered."""

_log = logging.getLogger("entail.serving")

_LIBRARY: Sequence[tuple[type[EntailError], str]] = (
    (errors.UnknownEncoderError, "unknown_encoder"),
    (errors.DataError, "invalid"),
    (errors.ManifestMismatchError, "internal"),
    (errors.RetrievalError, "invalid"),
    (errors.EncoderError, "encoder"),
    (errors.DatabaseError, "unavailable"),
    (errors.HubError, "unavailable"),
)
"""Kind of the library's errors; the first match counts, all others are internal."""

_PUBLIC_MESSAGES: Mapping[str, str] = {
    "encoder": "the encoder cannot be used at this moment",
    "unavailable": "something that the server needs is out of reach; try again later",
    "internal": "something unexpected happened",
}
"""Messages of server errors: the library's own may name files and machines."""

GET_ERRORS = (400, 429, 500, 503)
POST_ERRORS = (*GET_ERRORS, 404, 408, 413, 415, 422, 504)


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that may answer with these error statuses."""
    return {
        status: {
            "model": ErrorReply,
            "description": "; or ".join(when for other, when in KINDS.values() if other == status),
        }
        for status in sorted(statuses)
    }


def add_error_handlers(app: FastAPI) -> None:
    """Answer invalid requests, HTTP errors and all other exceptions in the shape of the API."""

    async def handle(request: Request, error: Exception) -> Response:
        return error_response(to_serving_error(error))

    for kind in (RequestValidationError, HTTPException, EntailError, Exception):
        app.add_exception_handler(kind, handle)


def to_serving_error(error: Exception) -> ServingError:
    """Return an exception as clients see it; a server error is logged under an id."""
    if isinstance(error, ServingError):
        return error
    if isinstance(error, RequestValidationError):
        problem = error.errors()[0]
        if problem["type"] == "json_invalid":
            return ServingError(f"expected JSON: {problem['ctx']['error']}", kind="bad_json", status=400)
        return explain(problem, status=422)
    if isinstance(error, HTTPException):
        kind, message = _HTTP.get(error.status_code, ("bad_request", "the request cannot be understood"))
        return ServingError(message, kind=kind, status=error.status_code)
    kind = next((kind for cls, kind in _LIBRARY if isinstance(error, cls)), "internal")
    status, _ = KINDS[kind]
    if status < 500:
        return ServingError(str(error), kind=kind, status=status)
    number = uuid.uuid4().hex[:12]
    _log.error("%s [%s]", kind, number, exc_info=error)
    message = f"{_PUBLIC_MESSAGES[kind]}; the server's log has it as {number}"
    retry_after = 2 if isinstance(error, errors.LockedDatabaseError) else None
    return ServingError(message, kind=kind, status=status, retry_after=retry_after)


_HTTP = {
    404: ("not_found", "unknown path; see /openapi.json"),
    405: ("method", "this path has another method; see /openapi.json"),
}


def error_response(error: ServingError) -> Response:
    """Return the response for an error."""
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    elif error.status == 408:
        headers["Connection"] = "close"  # the rest of the body may still come
    reply = ErrorReply(error=ErrorDetail(kind=error.kind, message=str(error), field=error.field))
    content = reply.model_dump_json(exclude_none=True)
    return Response(content, status_code=error.status, media_type="application/json", headers=headers)
