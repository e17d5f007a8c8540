"""``POST /direction``: which of two sentences entails the other."""

from __future__ import annotations

from entail.errors import ServingError
from entail.gausscse.verdict import judged, longer_than_read
from entail.serving.batching import Call
from entail.serving.endpoint import Endpoint
from entail.serving.messages import DirectionAnswer, DirectionRequest, PairDirection
from entail.serving.service import Service


async def direction(service: Service, asked: DirectionRequest, call: Call) -> DirectionAnswer:
    """Return a verdict for each pair; sentences are encoded together with those of other requests."""
    if len(asked.first) != len(asked.second):
        raise ServingError(
            f"expected as many second sentences as first ones, {len(asked.first)}, found {len(asked.second)}",
            field="second",
        )
    service.limits.check_texts(asked.first, "first")
    service.limits.check_texts(asked.second, "second")
    encoder = service.library.encoder(asked.encoder, gaussian=True).gaussians
    assert encoder is not None
    distinct = list(dict.fromkeys([*asked.first, *asked.second]))
    row = {text: number for number, text in enumerate(distinct)}
    found = await encoder.encode_async(distinct)
    one, two = (found[[row[text] for text in texts]] for texts in (asked.first, asked.second))
    longer = await service.in_thread(call, lambda: longer_than_read(encoder.cut, distinct))
    verdicts = judged(encoder.form, asked.first, asked.second, one, two, longer=longer)
    return DirectionAnswer(
        encoder=encoder.name,
        revision=encoder.revision,
        threshold=encoder.form.threshold,
        pairs=[
            PairDirection(**{name: getattr(verdict, name) for name in PairDirection.model_fields})
            for verdict in verdicts
        ],
    )


DIRECTION = Endpoint(
    path="/direction",
    asks=DirectionRequest,
    answers=DirectionAnswer,
    run=direction,
    summary="Which of two sentences entails the other",
    description="By an encoder of Gaussians (GaussCSE); 404 where none is served.",
)
