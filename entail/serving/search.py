"""``POST /search``: queries to the nearest premises of a corpus."""

from __future__ import annotations

from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.errors import ServingError
from entail.index.protocol import PremiseIndex
from entail.serving.batching import Call
from entail.serving.endpoint import Endpoint
from entail.serving.messages import Hit, SearchAnswer, SearchRequest
from entail.serving.service import Service


async def search(service: Service, asked: SearchRequest, call: Call) -> SearchAnswer:
    """Return the k nearest premises of each query, as `PremiseIndex.search` ranks them."""
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
    name = asked.retriever or library.default(asked.corpus)
    if name not in library.retrievers():
        raise ServingError(
            f"no retriever of this name is served; here are: {', '.join(library.retrievers())}",
            kind="unknown_encoder",
            status=404,
            field="retriever",
        )
    info = None
    if asked.premises is not None:
        corpus, index = library.index_of(name, asked.premises, call)
    else:
        info, corpus = library.corpus(asked.corpus or "")
        index = library.index(name, corpus, call)
    call.check()
    return SearchAnswer(
        retriever=index.name,
        revision=index.manifest.revision,
        corpus=info.name if info else None,
        corpus_version=info.version if info else None,
        corpus_hash=corpus.hash,
        count=len(corpus),
        hits=_hits(index, corpus, asked),
    )


def _hits(index: PremiseIndex, corpus: Corpus, asked: SearchRequest) -> list[list[Hit]]:
    found = index.search(asked.queries, k=asked.k + asked.exclude_own)
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
    description="The corpus is one of the installation's, by name, or comes with the request. While the "
    "index of a corpus is being built the answer is 503 with Retry-After.",
)
