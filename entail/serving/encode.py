"""``POST /encode``: texts to vectors, or to the means and log variances of Gaussians."""

from __future__ import annotations

import asyncio

from entail.encoders.gaussians import Gaussians
from entail.errors import ServingError
from entail.index.protocol import Floats
from entail.serving.batching import Call, Lane
from entail.serving.endpoint import Endpoint
from entail.serving.messages import EncodeAnswer, EncodeRequest
from entail.serving.served import ServedEncoder, ServedGaussians
from entail.serving.service import Service


async def encode(service: Service, asked: EncodeRequest, call: Call) -> EncodeAnswer:
    """Return the vectors or Gaussians of texts, encoded together with those of other requests."""
    service.limits.check_texts(asked.texts, "texts")
    encoder = service.library.encoder(asked.encoder)
    found = await (
        _vectors(encoder, asked) if encoder.gaussians is None else _gaussians(encoder.gaussians, asked)
    )
    return EncodeAnswer.of(found, asked, encoder=encoder.name, revision=encoder.revision)


async def _vectors(encoder: ServedEncoder, asked: EncodeRequest) -> Floats:
    lane = Lane(asked.tower, normalised=asked.normalised)
    return await asyncio.wrap_future(encoder.batcher.submit(asked.texts, lane))


async def _gaussians(encoder: ServedGaussians, asked: EncodeRequest) -> Gaussians:
    if asked.normalised and "normalised" in asked.model_fields_set:
        raise ServingError(
            f"expected nothing or false with {encoder.name!r}, found true: it makes Gaussians, and a mean of "
            "length 1 would be another one's; from Python ask by Client.encode_gaussians",
            field="normalised",
        )
    return await encoder.encode_async(asked.texts)


ENCODE = Endpoint(
    path="/encode",
    asks=EncodeRequest,
    answers=EncodeAnswer,
    run=encode,
    summary="Texts to vectors",
    description="Texts are encoded as they are, by the query's or the premises' tower; an encoder of "
    "Gaussians (GaussCSE) has one tower, and answers with means and log variances. Requests that come at the "
    "same time are encoded together.",
)
