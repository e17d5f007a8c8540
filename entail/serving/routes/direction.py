"""``POST /direction``: entailment between two sentences and its direction."""

from __future__ import annotations

from fastapi import APIRouter

from entail.errors import ServingError
from entail.gausscse.verdict import judged, longer_than_read
from entail.serving.admission import ApiRoute
from entail.serving.errors import POST_ERRORS, error_responses
from entail.serving.messages import DirectionAnswer, DirectionRequest, PairDirection
from entail.serving.service import CallDep, ServiceDep

router = APIRouter(route_class=ApiRoute, responses=error_responses(*POST_ERRORS))


@router.post("/direction", summary="Which of two sentences entails the other")
async def direction(request: DirectionRequest, service: ServiceDep, call: CallDep) -> DirectionAnswer:
    """Judge each pair by an encoder of Gaussians (GaussCSE); 404 if none is served."""
    if len(request.first) != len(request.second):
        raise ServingError(
            f"expected as many second sentences as first ones, {len(request.first)}, "
            f"found {len(request.second)}",
            field="second",
        )
    service.limits.check_texts(request.first, "first")
    service.limits.check_texts(request.second, "second")
    encoder = service.library.encoder(request.encoder, gaussian=True).gaussians
    assert encoder is not None
    distinct = list(dict.fromkeys([*request.first, *request.second]))
    row = {text: number for number, text in enumerate(distinct)}
    encoded = await encoder.encode_async(distinct)
    first, second = (encoded[[row[text] for text in texts]] for texts in (request.first, request.second))
    longer = await service.in_thread(call, lambda: longer_than_read(encoder.cut, distinct))
    verdicts = judged(encoder.form, request.first, request.second, first, second, longer=longer)
    return DirectionAnswer(
        encoder=encoder.name,
        revision=encoder.revision,
        threshold=encoder.form.threshold,
        pairs=[
            PairDirection(**{name: getattr(verdict, name) for name in PairDirection.model_fields})
            for verdict in verdicts
        ],
    )
