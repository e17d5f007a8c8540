"""Requests whose methods are not here yet: answered 501, with what is missing; ``GET /info`` says so, too.

A method that arrives puts an `Endpoint` of its own in the place of the one here. What such a request and its
answer hold is the method's to say: any JSON object is taken, so that nobody builds on a guess.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from entail.errors import ServingError
from entail.serving.batching import Call
from entail.serving.endpoint import Endpoint
from entail.serving.messages import ErrorReply
from entail.serving.service import Service


class PlannedRequest(BaseModel):
    """Any JSON object: what belongs into it is not settled."""

    model_config = ConfigDict(extra="allow")


def planned(path: str, *, summary: str, needs: str) -> Endpoint:
    """Return an endpoint that says what it lacks.

    Args:
        path: Where.
        summary: What it will do.
        needs: What has to be here for it to answer, as the end of "needs ...".
    """

    async def run(service: Service, asked: PlannedRequest, call: Call) -> ErrorReply:
        raise ServingError(
            f"{path} does not answer yet: it needs {needs}; GET /info says which requests are live",
            kind="not_here",
            status=501,
        )

    return Endpoint(
        path=path,
        asks=PlannedRequest,
        answers=ErrorReply,
        run=run,
        summary=f"{summary} (not yet)",
        description=f"Answers 501 until there is what it needs: {needs}.",
        needs=needs,
    )


CHAIN = planned(
    "/chain",
    summary="Facts ranked one after another, each given those before",
    needs="a scorer of the method ARCF (autoregressive reasoning over chains of facts), and no such method "
    "is installed",
)
