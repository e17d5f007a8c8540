"""``POST /search``: premises nearest to a query, or in a direction of entailment."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter

from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.errors import ServingError
from entail.index.gaussian import GaussianIndex
from entail.index.lifted import Direction
from entail.index.protocol import Hits, PremiseIndex
from entail.serving.admission import ApiRoute
from entail.serving.batching import Call
from entail.serving.errors import POST_ERRORS, error_responses
from entail.serving.library import Library
from entail.serving.messages import Hit, SearchAnswer, SearchRequest, Way
from entail.serving.service import CallDep, ServiceDep

router = APIRouter(route_class=ApiRoute, responses=error_responses(*POST_ERRORS))

_DIRECTIONS: Mapping[Way, Direction] = {"entails": "entailing", "entailed": "entailed"}


@router.post("/search", summary="Queries to the nearest premises")
async def search(request: SearchRequest, service: ServiceDep, call: CallDep) -> SearchAnswer:
    """Return the k nearest premises of each query, from a corpus of the installation or of the request.

    An encoder of Gaussians (GaussCSE) finds the premises that entail a query, or those that it entails. While
    the index of a corpus is in construction, the answer is 503 with Retry-After.
    """
    limits, queries = service.limits, len(request.queries)
    limits.check_texts(request.queries, "queries")
    limits.check_number("k", request.k, min(limits.k, limits.hits // max(queries, 1)))
    if (request.corpus is None) == (request.premises is None):
        raise ServingError("expected either a corpus or premises, found both or neither", field="corpus")
    if request.premises is not None:
        limits.check_texts(request.premises, "premises", most=limits.premises)
    return await service.in_thread(call, lambda: _search(service.library, request, call))


def _search(library: Library, request: SearchRequest, call: Call) -> SearchAnswer:
    name = request.retriever or _default_retriever(library, request)
    direction = _direction(library, name, request)
    info = None
    if request.premises is not None:
        corpus, index = library.index_premises(name, request.premises, call)
    else:
        info, corpus = library.corpus(request.corpus or "")
        index = library.index(name, corpus, call, direction=_DIRECTIONS[direction or "entails"])
    call.check()
    return SearchAnswer(
        retriever=index.name,
        revision=index.manifest.revision,
        direction=direction,
        corpus=info.name if info else None,
        corpus_version=info.version if info else None,
        corpus_hash=corpus.hash,
        count=len(corpus),
        hits=_to_messages(_find(index, request, direction), corpus, request),
    )


def _default_retriever(library: Library, request: SearchRequest) -> str:
    if request.direction is not None:
        return library.encoder(gaussian=True).name
    return library.default(request.corpus)


def _direction(library: Library, name: str, request: SearchRequest) -> Way | None:
    """Return the direction of a search, None for a retriever of points."""
    if name not in library.retrievers():
        raise ServingError(
            f"no retriever of this name is served; available: {', '.join(library.retrievers())}",
            kind="unknown_encoder",
            status=404,
            field="retriever",
        )
    gaussian = library.entries(gaussian=True)
    if name in gaussian:
        return request.direction or "entails"
    if request.direction is not None:
        raise ServingError(
            f"expected no direction with {name!r}, which makes no Gaussians, found one; leave it out, or "
            f"take an encoder of Gaussians as retriever; available: {', '.join(gaussian) or 'none'}",
            field="direction",
        )
    return None


def _find(index: PremiseIndex, request: SearchRequest, direction: Way | None) -> Hits:
    k = request.k + request.exclude_own
    if isinstance(index, GaussianIndex) and direction is not None:
        return index.search(request.queries, k=k, direction=_DIRECTIONS[direction])
    return index.search(request.queries, k=k)


def _to_messages(hits: Hits, corpus: Corpus, request: SearchRequest) -> list[list[Hit]]:
    answers = []
    for query, positions, scores in zip(
        request.queries, hits.positions.tolist(), hits.scores.tolist(), strict=True
    ):
        own = premise_key(query) if request.exclude_own else None
        others = [(p, s) for p, s in zip(positions, scores, strict=True) if corpus.keys[p] != own]
        answers.append(
            [
                Hit(rank=rank, score=score, text=corpus.texts[p], key=corpus.keys[p], position=p)
                for rank, (p, score) in enumerate(others[: request.k], start=1)
            ]
        )
    return answers
