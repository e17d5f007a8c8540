"""Every way a request can fail, in one shape: ``{"error": {"kind": ..., "message": ..., "field": ...}}``.

=================  ======  ==========================================================================
kind               status  when
=================  ======  ==========================================================================
`bad_request`      400     a query string, a body with GET, a body that ends early
`bad_json`         400     no JSON, a field twice, NaN, lone surrogates, too deep
`unauthorized`     401     no token or another one
`not_found`        404     no such path
`unknown_encoder`  404     no encoder, retriever or scorer of this name is served
`unknown_corpus`   404     no corpus has this name
`method`           405     another method than the path has
`slow`             408     the body did not arrive in time
`conflict`         409     what is asked for was changed by somebody else
`too_large`        413     more bytes than a request may have
`media_type`       415     no `application/json`, or a compressed body
`invalid`          422     a field that is unknown, missing, of another type or unusable
`too_many`         422     more texts, premises or hits than a request may ask for
`too_long`         422     a text with more characters than it may have
`busy`             429     too many wait; `Retry-After` says when to come again
`internal`         500     nobody expected it; the message has an id that stands in the server's log
`encoder`          503     weights that cannot be loaded
`unavailable`      503     the database or the Hub is out of reach
`not_ready`        503     an index is being built, or the server is shutting down; see `Retry-After`
`timeout`          504     the answer took too long
=================  ======  ==========================================================================
"""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from entail.errors import (
    ConflictError,
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
from entail.serving.strict_json import printable

_log = logging.getLogger("entail.serving")

_KINDS: Sequence[tuple[type[EntailError], str, int]] = (
    (UnknownEncoderError, "unknown_encoder", 404),
    (UnknownTreeError, "not_found", 404),
    (UnknownJobError, "not_found", 404),
    (ConflictError, "conflict", 409),
    (TreeError, "invalid", 422),
    (DataError, "invalid", 422),
    (ManifestMismatchError, "internal", 500),
    (RetrievalError, "invalid", 422),
    (EncoderError, "encoder", 503),
    (LockedDatabaseError, "unavailable", 503),
    (DatabaseError, "unavailable", 503),
    (HubError, "unavailable", 503),
)
"""Kind and status of the library's errors, the first that fits; others are internal."""

_WORDS: Mapping[str, str] = {
    "encoder": "the encoder cannot be used at this moment",
    "unavailable": "something that the server needs is out of reach; try again later",
    "internal": "something unexpected happened",
}
"""What a client is told of what is not its own doing: the rest may name files and machines."""

_FIELD_WORDS: Mapping[str, str] = {
    "bool_type": "expected true or false, found something else",
    "extra_forbidden": "expected only fields of the documented names, found another one",
    "int_type": "expected a whole number, found something else",
    "list_type": "expected a list, found something else",
    "missing": "expected this field, found none",
    "string_type": "expected a text, found something else",
    "string_unicode": "expected characters, found half of one (a lone surrogate)",
    "too_short": "expected at least one, found none",
}
"""What pydantic calls an error -> in our words; others are told in its own."""

REASONS: Mapping[int, str] = {
    400: "No JSON, or more than a JSON body.",
    401: "No token, or another one.",
    404: "Nothing has this name.",
    408: "The body did not arrive in time.",
    409: "It was changed meanwhile.",
    413: "More bytes than a request may have.",
    415: "No application/json, or compressed.",
    422: "A field that cannot be used; it is named.",
    429: "Too many wait; Retry-After says when to come again.",
    500: "Unexpected; the id in the message stands in the server's log.",
    503: "Not ready or out of reach; Retry-After where it is known.",
    504: "It took too long.",
}
"""Status -> when, for the OpenAPI document."""


def as_refusal(error: BaseException) -> ServingError:
    """Return an error as a client is told it; what is not the client's doing is logged under an id."""
    if isinstance(error, ServingError):
        return error
    kind, status = next(
        ((kind, status) for found, kind, status in _KINDS if isinstance(error, found)), ("internal", 500)
    )
    if status < 500:
        return ServingError(str(error), kind=kind, status=status)
    number = uuid.uuid4().hex[:12]
    _log.error("%s [%s]", kind, number, exc_info=error)
    return ServingError(
        f"{_WORDS[kind]}; whoever runs the server finds it in the log as {number}",
        kind=kind,
        status=status,
        retry_after=2 if isinstance(error, LockedDatabaseError) else None,
    )


def reply(error: ServingError) -> Response:
    """Put a refusal into an answer."""
    told = ErrorReply(error=ErrorDetail(kind=error.kind, message=str(error), field=error.field))
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    # A refused request may be half read: nobody should take what is left of it for the next one.
    if error.status in (400, 401, 408, 413, 415):
        headers["Connection"] = "close"
    return Response(
        told.model_dump_json(exclude_none=True),
        status_code=error.status,
        media_type="application/json",
        headers=headers,
    )


def refused_fields(errors: Sequence[Mapping[str, Any]]) -> ServingError:
    """Return what pydantic found as a refusal; nothing of the request's values is repeated."""
    first = errors[0]
    place = [printable(str(step)) for step in first["loc"] if step != "body"]
    message = str(first["msg"]).removeprefix("Value error, ")
    message = _FIELD_WORDS.get(str(first["type"]), message)
    if not place:
        message = "expected a JSON object with the documented fields, found something else"
    return ServingError(message, kind="invalid", status=422, field=".".join(place) or None)
