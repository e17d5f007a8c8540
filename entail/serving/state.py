"""``GET /health``, ``GET /health/ready``, ``GET /info``: whether a server is well, and what it has."""

from __future__ import annotations

from dataclasses import asdict

from entail.encoders.device import device_name
from entail.serving.batching import Call
from entail.serving.endpoint import Endpoint
from entail.serving.messages import CorpusInfo, EncoderInfo, EndpointInfo, Health, Info, ScorerInfo
from entail.serving.service import Service
from entail.version import __version__


async def health(service: Service, asked: None, call: Call) -> Health:
    """Return whether the server is ready; that it answers says that it lives."""
    return Health(live=True, ready=service.reason is None, reason=service.reason)


async def info(service: Service, asked: None, call: Call) -> Info:
    """Return version, encoders with their revisions, corpora, limits and device."""
    return await service.in_thread(call, lambda: _info(service))


def _info(service: Service) -> Info:
    library = service.library
    encoders = []
    for name, entry in library.entries().items():
        held = library.held(name)
        encoders.append(
            EncoderInfo(
                name=name,
                revision=held.revision if held else entry.revision,
                method=entry.method,
                gaussian=entry.gaussian is not None,
                dimension=entry.space_dimension,
                symmetric=entry.symmetric,
                licence=entry.licence,
                loaded=held is not None and held.encoder.loaded,
                waiting=held.batcher.waiting if held else 0,
            )
        )
    corpora = [
        CorpusInfo(
            name=corpus.name,
            version=corpus.version,
            count=corpus.count,
            licence=corpus.licence,
            active=library.default(corpus.name),
        )
        for corpus in library.corpora()
    ]
    return Info(
        version=__version__,
        device=device_name(),
        default_encoder=library.default(),
        encoders=encoders,
        retrievers=library.retrievers(),
        scorers=[
            ScorerInfo(name=name, revision=service.scorers.revision(name), method=one.form.scheme)
            for name, one in service.scorers.listed().items()
        ],
        corpora=corpora,
        endpoints=[EndpointInfo(path=one.path, method=one.method) for one in service.endpoints],
        limits=asdict(service.limits),
    )


HEALTH = Endpoint(
    path="/health",
    answers=Health,
    run=health,
    summary="Whether it lives",
    description="200 as long as the server answers; `ready` says whether it can answer everything at once.",
    open=True,
)
READY = Endpoint(
    path="/health/ready",
    answers=Health,
    run=health,
    summary="Whether it is ready",
    description="200 when it is ready, else 503 with the same body: for what sends requests its way.",
    open=True,
    status_of=lambda found: 200 if found.ready else 503,
)
INFO = Endpoint(
    path="/info",
    answers=Info,
    run=info,
    summary="What it is and has",
    description="Version, encoders in reach with their revisions, corpora, limits, device.",
)
