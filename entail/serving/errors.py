"""Errors of the API, in one shape: ``{"error": {"kind": ..., "message": ..., "field": ...}}``.

=================  ======  ==========================================================================
kind               status  when
=================  ======  ==========================================================================
`bad_request`      400     a query string, a body with GET, a body that ends early
`bad_json`         400     a body that is not JSON in UTF-8; NaN and infinity are not JSON
`unauthorized`     401     a missing or wrong token
`not_found`        404     an unknown path
`unknown_encoder`  404     an encoder, retriever or scorer that is not served
`unknown_corpus`   404     an unknown corpus
`method`           405     a method that the path does not have
`slow`             408     a body that did not arrive in time
`conflict`         409     something that another client changed meanwhile
`too_large`        413     a body over the limit
`media_type`       415     a body that is not `application/json`, or compressed
`invalid`          422     a field that is unknown, missing, of another type or unusable
`too_many`         422     more texts, premises or hits than the limit
`too_long`         422     a text over the limit
`busy`             429     a full queue or too many requests; see `Retry-After`
`internal`         500     an unexpected error; its id in the message is in the server's log
`encoder`          503     weights that cannot be loaded
`unavailable`      503     a database or Hub out of reach
`not_ready`        503     an index in construction, or a server that shuts down; see `Retry-After`
`timeout`          504     an answer that took too long
=================  ======  ==========================================================================
"""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from entail.errors import (
    ConflictError,
    DamagedTreeError,
    DatabaseError,
    DataError,
    EncoderError,
    EntailError,
    HubError,
    LockedDatabaseError,
    ManifestMismatchError,
    RetrievalError,
    ServingError,
    TreeError,
    UnknownEncoderError,
    UnknownJobError,
    UnknownTreeError,
)
from entail.serving.messages import ErrorDetail, ErrorReply

_log = logging.getLogger("entail.serving")

_KINDS: Sequence[tuple[type[EntailError], str, int]] = (
    (UnknownEncoderError, "unknown_encoder", 404),
    (UnknownTreeError, "not_found", 404),
    (UnknownJobError, "not_found", 404),
    (ConflictError, "conflict", 409),
    (DamagedTreeError, "internal", 500),
    (TreeError, "invalid", 422),
    (DataError, "invalid", 422),
    (ManifestMismatchError, "internal", 500),
    (RetrievalError, "invalid", 422),
    (EncoderError, "encoder", 503),
    (LockedDatabaseError, "unavailable", 503),
    (DatabaseError, "unavailable", 503),
    (HubError, "unavailable", 503),
)
"""Kind and status of the library's errors; the first match counts, all others are internal."""

_PUBLIC_MESSAGES: Mapping[str, str] = {
    "encoder": "the encoder cannot be used at this moment",
    "unavailable": "something that the server needs is out of reach; try again later",
    "internal": "something unexpected happened",
}
"""Messages of server errors: the library's own may name files and machines."""

DESCRIPTIONS: Mapping[int, str] = {
    400: "Not JSON, or more than a JSON body.",
    401: "Missing or wrong token.",
    404: "Unknown name.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "Not application/json, or compressed.",
    422: "An unusable field, which is named.",
    429: "Too many requests; see Retry-After.",
    500: "Unexpected error; the id in the message is in the server's log.",
    503: "Not ready or out of reach; see Retry-After.",
    504: "The answer took too long.",
}
"""Descriptions of error statuses in the OpenAPI document."""

GET_ERRORS = (400, 429, 500, 503)
POST_ERRORS = (*GET_ERRORS, 404, 408, 413, 415, 422, 504)


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that may answer with these error statuses."""
    return {status: {"model": ErrorReply, "description": DESCRIPTIONS[status]} for status in sorted(statuses)}


def add_error_handlers(app: FastAPI) -> None:
    """Answer invalid requests, HTTP errors and the library's errors in the shape of the API."""

    async def handle(request: Request, error: Exception) -> Response:
        return error_response(to_serving_error(error))

    for kind in (RequestValidationError, HTTPException, EntailError):
        app.add_exception_handler(kind, handle)


def to_serving_error(error: Exception) -> ServingError:
    """Return an exception as clients see it; a server error is logged under an id."""
    if isinstance(error, ServingError):
        return error
    if isinstance(error, RequestValidationError):
        return _from_validation(error)
    if isinstance(error, HTTPException):
        return _from_http(error)
    kind, status = next(
        ((kind, status) for error_type, kind, status in _KINDS if isinstance(error, error_type)),
        ("internal", 500),
    )
    if status < 500:
        return ServingError(str(error), kind=kind, status=status)
    number = uuid.uuid4().hex[:12]
    _log.error("%s [%s]", kind, number, exc_info=error)
    return ServingError(
        f"{_PUBLIC_MESSAGES[kind]}; the server's log has it as {number}",
        kind=kind,
        status=status,
        retry_after=2 if isinstance(error, LockedDatabaseError) else None,
    )


def error_response(error: ServingError) -> Response:
    """Return the response for an error."""
    detail = ErrorDetail(kind=error.kind, message=str(error), field=error.field)
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    elif error.status == 408:
        headers["Connection"] = "close"  # the rest of the body may still come
    return Response(
        ErrorReply(error=detail).model_dump_json(exclude_none=True),
        status_code=error.status,
        media_type="application/json",
        headers=headers,
    )


def _from_validation(error: RequestValidationError) -> ServingError:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return ServingError(f"expected JSON: {first['ctx']['error']}", kind="bad_json", status=400)
    # A client may send names of any length.
    path = [str(step)[:60] for step in first["loc"] if step != "body"]
    message = str(first["msg"]).removeprefix("Value error, ")
    return ServingError(message, kind="invalid", status=422, field=".".join(path) or None)


def _from_http(error: HTTPException) -> ServingError:
    if error.status_code == 404:
        return ServingError("unknown path; see /openapi.json", kind="not_found", status=404)
    if error.status_code == 405:
        return ServingError("this path has another method; see /openapi.json", kind="method", status=405)
    return ServingError("the request cannot be understood", kind="bad_request", status=error.status_code)
