"""``POST /search``: queries to the nearest premises of a corpus, or to those that entail them or follow."""

from __future__ import annotations

from collections.abc import Mapping

from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.errors import ServingError
from entail.index.gaussian import GaussianIndex
from entail.index.lifted import Direction
from entail.index.protocol import Hits, PremiseIndex
from entail.serving.batching import Call
from entail.serving.endpoint import Endpoint
from entail.serving.library import Library
from entail.serving.messages import Hit, SearchAnswer, SearchRequest, Way
from entail.serving.service import Service

_DIRECTIONS: Mapping[Way, Direction] = {"entails": "entailing", "entailed": "entailed"}


async def search(service: Service, asked: SearchRequest, call: Call) -> SearchAnswer:
    """Return the k nearest premises of each query, as the retriever's own index ranks them."""
    limits = service.limits
    limits.check_texts(asked.queries, "queries")
    limits.check_k(asked.k, len(asked.queries))
    if (asked.corpus is None) == (asked.premises is None):
        raise ServingError("expected either a corpus or premises, found both or neither", field="corpus")
    if asked.premises is not None:
        limits.check_texts(asked.premises, "premises", most=limits.premises)
    return await service.in_thread(call, lambda: _search(service, asked, call))


def _search(service: Service, asked: SearchRequest, call: Call) -> SearchAnswer:
    library = service.library
    name = asked.retriever or _default(library, asked)
    if name not in library.retrievers():
        raise ServingError(
            f"no retriever of this name is served; here are: {', '.join(library.retrievers())}",
            kind="unknown_encoder",
            status=404,
            field="retriever",
        )
    gaussian = library.entries(gaussian=True)
    if asked.direction is not None and name not in gaussian:
        raise ServingError(
            f"expected no direction with {name!r}, which makes no Gaussians and tells none, found one; leave "
            "it out, or take an encoder of Gaussians as retriever; here are: "
            f"{', '.join(gaussian) or 'none'}",
            field="direction",
        )
    way: Way | None = (asked.direction or "entails") if name in gaussian else None
    info = None
    if asked.premises is not None:
        corpus, index = library.index_of(name, asked.premises, call)
    else:
        info, corpus = library.corpus(asked.corpus or "")
        index = library.index(name, corpus, call, direction=_DIRECTIONS[way or "entails"])
    call.check()
    return SearchAnswer(
        retriever=index.name,
        revision=index.manifest.revision,
        direction=way,
        corpus=info.name if info else None,
        corpus_version=info.version if info else None,
        corpus_hash=corpus.hash,
        count=len(corpus),
        hits=_hits(_found(index, asked, way), corpus, asked),
    )


def _default(library: Library, asked: SearchRequest) -> str:
    if asked.direction is not None:
        return library.encoder(gaussian=True).name
    return library.default(asked.corpus)


def _found(index: PremiseIndex, asked: SearchRequest, way: Way | None) -> Hits:
    k = asked.k + asked.exclude_own
    if isinstance(index, GaussianIndex) and way is not None:
        return index.search(asked.queries, k=k, direction=_DIRECTIONS[way])
    return index.search(asked.queries, k=k)


def _hits(found: Hits, corpus: Corpus, asked: SearchRequest) -> list[list[Hit]]:
    answers = []
    for query, positions, scores in zip(
        asked.queries, found.positions.tolist(), found.scores.tolist(), strict=True
    ):
        own = premise_key(query) if asked.exclude_own else None
        kept = [(p, s) for p, s in zip(positions, scores, strict=True) if corpus.keys[p] != own][: asked.k]
        answers.append(
            [
                Hit(rank=rank, score=score, text=corpus.texts[p], key=corpus.keys[p], position=p)
                for rank, (p, score) in enumerate(kept, start=1)
            ]
        )
    return answers


SEARCH = Endpoint(
    path="/search",
    asks=SearchRequest,
    answers=SearchAnswer,
    run=search,
    summary="Queries to the nearest premises",
    description="The corpus is one of the installation's, by name, or comes with the request. An encoder of "
    "Gaussians (GaussCSE) brings the premises that entail a query, or those that it entails. While the index "
    "of a corpus is being built the answer is 503 with Retry-After.",
)
