"""One kind of request, as a record: a method adds its own by adding one, and by nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from entail.serving.batching import Call
from entail.serving.service import Service

_ALWAYS = (400, 404, 405, 429, 500)
_BODY = (408, 413, 415, 422, 503, 504)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One kind of request.

    Attributes:
        path: Where, from the root: `/encode`.
        answers: Type of the answer.
        run: Makes the answer: the service, the request's message (None where it has none), the call.
        summary: In a few words.
        description: In a few sentences.
        asks: Type of the request's message; None for GET.
        open: Whether it needs no token and is answered however many requests there are.
        status_of: The status that an answer has; 200 where it is None.
    """

    path: str
    answers: type[BaseModel]
    run: Callable[[Service, Any, Call], Awaitable[BaseModel]]
    summary: str
    description: str = ""
    asks: type[BaseModel] | None = None
    open: bool = False
    status_of: Callable[[Any], int] | None = None

    @property
    def method(self) -> Literal["GET", "POST"]:
        """POST where it has a message."""
        return "GET" if self.asks is None else "POST"

    @property
    def name(self) -> str:
        """Its id in the OpenAPI document: `health_ready`."""
        return self.path.strip("/").replace("/", "_")

    @property
    def refusals(self) -> tuple[int, ...]:
        """Statuses other than of an answer that a client may meet."""
        own = () if self.open else (401,)
        return tuple(
            sorted({400, 429, 500, 503, *own, *(_BODY if self.asks else ()), *((404,) if self.asks else ())})
        )
