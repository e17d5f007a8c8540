"""``POST /encode``: texts to vectors."""

from __future__ import annotations

import asyncio

from entail.errors import ServingError
from entail.serving.batching import Call, Lane
from entail.serving.endpoint import Endpoint
from entail.serving.messages import EncodeAnswer, EncodeRequest
from entail.serving.service import Service


async def encode(service: Service, asked: EncodeRequest, call: Call) -> EncodeAnswer:
    """Return the vectors of texts, encoded together with those of other requests."""
    service.limits.check_texts(asked.texts, "texts")
    encoder = service.library.encoder(asked.encoder)
    if encoder.gaussians is not None:
        raise ServingError(
            f"expected an encoder of points, found {encoder.name!r}, which makes Gaussians; ask it by "
            "/search or /direction",
            field="encoder",
        )
    future = encoder.batcher.submit(asked.texts, Lane(asked.tower, asked.normalised))
    vectors = await asyncio.wrap_future(future)
    return EncodeAnswer.of(vectors, asked, encoder=encoder.name, revision=encoder.revision)


ENCODE = Endpoint(
    path="/encode",
    asks=EncodeRequest,
    answers=EncodeAnswer,
    run=encode,
    summary="Texts to vectors",
    description="Texts are encoded as they are, by the query's or the premises' tower. Requests that come at "
    "the same time are encoded together.",
)
