"""``GET /health``, ``GET /health/ready``, ``GET /info``: state and contents of the server."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request, Response

from entail.encoders.device import device_name
from entail.serving.admission import ApiRoute
from entail.serving.errors import GET_ERRORS, error_responses
from entail.serving.messages import CorpusInfo, EncoderInfo, EndpointInfo, Health, Info, ScorerInfo
from entail.serving.service import CallDep, Service, ServiceDep
from entail.version import __version__

public = APIRouter(route_class=ApiRoute, responses=error_responses(*GET_ERRORS))
"""Routes without token and limit."""

router = APIRouter(route_class=ApiRoute, responses=error_responses(*GET_ERRORS, 504))


@public.get("/health", summary="Whether the server lives")
async def health(service: ServiceDep) -> Health:
    """Return whether the server can answer everything at once; 200 as long as it answers."""
    return Health(live=True, ready=service.reason is None, reason=service.reason)


@public.get(
    "/health/ready",
    summary="Whether the server is ready",
    responses={503: {"model": Health, "description": "Not ready; says why."}},
)
async def health_ready(service: ServiceDep, response: Response) -> Health:
    """Return the same with status 200 if the server is ready, else 503; for load balancers."""
    state = await health(service)
    response.status_code = 200 if state.ready else 503
    return state


@router.get("/info", summary="What the server is and has")
async def info(request: Request, service: ServiceDep, call: CallDep) -> Info:
    """Return version, device, encoders with revisions, scorers, corpora, endpoints and limits."""
    endpoints = [
        EndpointInfo(path=path, method=method.upper())
        for path, operations in request.app.openapi()["paths"].items()
        for method in operations
    ]
    return await service.in_thread(call, lambda: _collect(service, endpoints))


def _collect(service: Service, endpoints: list[EndpointInfo]) -> Info:
    library = service.library
    encoders = []
    for name, entry in library.entries().items():
        loaded = library.peek(name)
        encoders.append(
            EncoderInfo(
                name=name,
                revision=loaded.revision if loaded else entry.revision,
                method=entry.method,
                gaussian=entry.gaussian is not None,
                dimension=entry.space_dimension,
                symmetric=entry.symmetric,
                licence=entry.licence,
                loaded=loaded is not None and loaded.encoder.loaded,
                waiting=loaded.batcher.waiting if loaded else 0,
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
            ScorerInfo(name=name, revision=service.scorers.revision(name), method=scorer.form.scheme)
            for name, scorer in service.scorers.available().items()
        ],
        corpora=corpora,
        endpoints=endpoints,
        limits=asdict(service.limits),
    )
