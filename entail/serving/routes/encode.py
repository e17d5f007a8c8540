"""``POST /encode``: vectors or Gaussians of texts."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from entail.encoders.gaussian.distributions import Gaussians
from entail.errors import ServingError
from entail.index.protocol import Floats
from entail.serving.admission import ApiRoute
from entail.serving.batching import Lane
from entail.serving.encoders import ServedEncoder, ServedGaussians
from entail.serving.errors import POST_ERRORS, error_responses
from entail.serving.messages import EncodeAnswer, EncodeRequest
from entail.serving.service import ServiceDep

router = APIRouter(route_class=ApiRoute, responses=error_responses(*POST_ERRORS))


@router.post("/encode", summary="Texts to vectors")
async def encode(request: EncodeRequest, service: ServiceDep) -> EncodeAnswer:
    """Encode texts by the query or the premise tower.

    An encoder of Gaussians (GaussCSE) has one tower and answers with means and log variances. Texts of
    simultaneous requests are encoded together.
    """
    service.limits.check_texts(request.texts, "texts")
    encoder = service.library.encoder(request.encoder)
    vectors = await (
        _encode_points(encoder, request)
        if encoder.gaussians is None
        else _encode_gaussians(encoder.gaussians, request)
    )
    return EncodeAnswer.of(vectors, request, encoder=encoder.name, revision=encoder.revision)


async def _encode_points(encoder: ServedEncoder, request: EncodeRequest) -> Floats:
    lane = Lane(request.tower, normalised=request.normalised)
    return await asyncio.wrap_future(encoder.batcher.submit(request.texts, lane))


async def _encode_gaussians(encoder: ServedGaussians, request: EncodeRequest) -> Gaussians:
    if request.normalised and "normalised" in request.model_fields_set:
        raise ServingError(
            f"expected nothing or false with {encoder.name!r}, found true: it makes Gaussians, whose means "
            "are not normalised; in Python call Client.encode_gaussians",
            field="normalised",
        )
    return await encoder.encode_async(request.texts)
