"""Endpoints of the API; another package adds its own by `app.include_router`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from fastapi import APIRouter, Request, Response

from entail.arcf.chains.chain import Search
from entail.arcf.chains.stepwise import Step, follow, score_step
from entail.cancellation import cancellable
from entail.claims import existence_claim, state_answer
from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.data.worldtree.questions import Question
from entail.encoders.cross.reranker import list_rerankers
from entail.encoders.device import device_name
from entail.errors import ServingError
from entail.evaluation.chains import TFIDF
from entail.gausscse.verdict import find_truncated, judge_gaussians
from entail.index.factory import rerank
from entail.index.gaussian import GaussianIndex
from entail.index.lifted import Direction
from entail.index.protocol import Hits
from entail.serving.admission import ApiRoute, PublicRoute
from entail.serving.batching import Lane, current_call
from entail.serving.errors import GET_ERRORS, POST_ERRORS, error_responses
from entail.serving.library import Library
from entail.serving.messages import (
    ChainAnswer,
    ChainCandidate,
    ChainFact,
    ChainRequest,
    ChainStep,
    ClaimAnswer,
    ClaimRequest,
    CorpusInfo,
    DirectionAnswer,
    DirectionRequest,
    EncodeAnswer,
    EncodeRequest,
    EncoderInfo,
    EndpointInfo,
    Health,
    Hit,
    Info,
    PairDirection,
    QuestionClaim,
    ScorerInfo,
    SearchAnswer,
    SearchRequest,
    Way,
)
from entail.serving.service import Service, ServiceDep
from entail.version import __version__

public = APIRouter(route_class=PublicRoute, responses=error_responses(*GET_ERRORS))
"""Routes without token and limit."""

queries = APIRouter(route_class=ApiRoute, responses=error_responses(*POST_ERRORS))
state = APIRouter(route_class=ApiRoute, responses=error_responses(*GET_ERRORS, 504))

_DIRECTIONS: Mapping[Way, Direction] = {"entails": "entailing", "entailed": "entailed"}


@queries.post("/encode", summary="Texts to vectors")
async def encode(request: EncodeRequest, service: ServiceDep) -> EncodeAnswer:
    """Encode texts by the query or the premise tower.

    An encoder of Gaussians (GaussCSE) has one tower and answers with means and log variances. Texts of
    simultaneous requests are encoded together.
    """
    service.limits.check_texts(request.texts, "texts")
    encoder = service.library.encoder(request.encoder)
    about = {"encoder": encoder.name, "revision": encoder.revision}
    if encoder.gaussians is None:
        lane = Lane(request.tower, normalised=request.normalised)
        vectors = await asyncio.wrap_future(encoder.batcher.submit(request.texts, lane))
        return EncodeAnswer.of(vectors, request, **about)
    if request.normalised and "normalised" in request.model_fields_set:
        raise ServingError(
            f"expected nothing or false with {encoder.name!r}, found true: it makes Gaussians, whose means "
            "are not normalised; in Python call Client.encode_gaussians",
            field="normalised",
        )
    return EncodeAnswer.of(await encoder.gaussians.encode_async(request.texts), request, **about)


@queries.post("/search", summary="Queries to the nearest premises")
async def search(request: SearchRequest, service: ServiceDep) -> SearchAnswer:
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
    if request.reranker is not None:
        limits.check_reranked(queries, directed=request.direction is not None)
    return await service.in_thread(lambda: _search(service.library, request))


def _search(library: Library, request: SearchRequest) -> SearchAnswer:
    call = current_call.get()
    name = request.retriever
    if name is None and request.direction is not None:
        name = library.encoder(gaussian=True).name
    name = name or library.default(request.corpus)
    direction = _direction(library, name, request)
    way = _DIRECTIONS[direction or "entails"]
    info = None
    if request.premises is not None:
        corpus, index = library.index_premises(name, request.premises)
    else:
        info, corpus = library.corpus(request.corpus or "")
        index = library.index(name, corpus, call, direction=way)
    if request.reranker is not None:
        index = rerank(index, corpus, library.reranker(request.reranker))
    queries, k = request.queries, request.k + request.exclude_own
    hits = (
        index.search(queries, k=k, direction=way)
        if isinstance(index, GaussianIndex)
        else index.search(queries, k=k)
    )
    return SearchAnswer(
        retriever=index.name,
        revision=index.manifest.revision,
        direction=direction,
        corpus=info.name if info else None,
        corpus_version=info.version if info else None,
        corpus_hash=corpus.hash,
        count=len(corpus),
        hits=_to_messages(hits, corpus, request),
    )


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


def _to_messages(hits: Hits, corpus: Corpus, request: SearchRequest) -> list[list[Hit]]:
    answers = []
    for query, positions, scores in zip(
        request.queries, hits.positions.tolist(), hits.scores.tolist(), strict=True
    ):
        own = premise_key(query) if request.exclude_own else None
        pairs = [(p, s) for p, s in zip(positions, scores, strict=True) if corpus.keys[p] != own]
        answers.append(
            [
                Hit(rank=rank, score=score, text=corpus.texts[p], key=corpus.keys[p], position=p)
                for rank, (p, score) in enumerate(pairs[: request.k], start=1)
            ]
        )
    return answers


@queries.post("/direction", summary="Which of two sentences entails the other")
async def direction(request: DirectionRequest, service: ServiceDep) -> DirectionAnswer:
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
    longer = await service.in_thread(lambda: find_truncated(encoder.cut, distinct))
    verdicts = judge_gaussians(encoder.form, request.first, request.second, first, second, truncated=longer)
    return DirectionAnswer(
        encoder=encoder.name,
        revision=encoder.revision,
        threshold=encoder.form.threshold,
        pairs=[
            PairDirection(**{name: getattr(verdict, name) for name in PairDirection.model_fields})
            for verdict in verdicts
        ],
    )


@queries.post("/claim", summary="A question to the claim that its answer exists")
async def claim(request: ClaimRequest, service: ServiceDep) -> ClaimAnswer:
    """Return the existence claim of each question, which a passage that answers it entails.

    Applies rules, without an encoder.
    """
    questions, answers = request.questions, request.answers
    service.limits.check_texts(questions, "questions")
    if answers is not None:
        service.limits.check_texts(answers, "answers")
        if len(answers) != len(questions):
            raise ServingError(
                f"expected as many answers as questions, {len(questions)}, found {len(answers)}",
                field="answers",
            )
    optional_answers: Sequence[str | None] = answers or [None] * len(questions)
    return ClaimAnswer(
        claims=await service.in_thread(lambda: list(map(_to_claim, cancellable(questions), optional_answers)))
    )


def _to_claim(question: str, answer: str | None) -> QuestionClaim:
    claim = existence_claim(question)
    return QuestionClaim(
        question=claim.question,
        claim=claim.text,
        rule=claim.rule,
        fallback=claim.fallback,
        statement=state_answer(question, answer).text if answer is not None else None,
    )


@queries.post("/chain", summary="The facts that explain an answer, one after another")
async def chain(request: ChainRequest, service: ServiceDep) -> ChainAnswer:
    """Build the chain of facts that explains an answer, and rank all facts by it.

    Uses a scorer of facts (ARCF), or shared words (`tfidf`), which is the default where no scorer is served.
    Facts come from a corpus of the installation or from the request. One request is scored at a time.
    """
    limits = service.limits
    limits.check_text(request.question, "question")
    limits.check_text(request.answer, "answer")
    limits.check_number("k", request.k, limits.visible)
    limits.check_number("length", request.length, limits.chain)
    limits.check_number("top", request.top, limits.k)
    limits.check_number("candidates", request.candidates, limits.visible)
    if (request.corpus is None) == (request.facts is None):
        raise ServingError("expected either a corpus or facts, found both or neither", field="corpus")
    if request.facts is not None:
        limits.check_texts(request.facts, "facts", most=limits.premises)
    return await service.in_thread(lambda: _build_chain(service, request), service.scorers.thread)


def _build_chain(service: Service, request: ChainRequest) -> ChainAnswer:
    info = None
    if request.facts is not None:
        corpus = Corpus.of("request", request.facts)
    else:
        info, corpus = service.library.corpus(request.corpus or "")
        if not len(corpus):
            raise ServingError("expected a corpus with facts, found an empty one", field="corpus")
    scorers = service.scorers
    name = request.scorer or scorers.default()
    scorer, steps, near = scorers.prepare(name, corpus, k=request.k, cache=info is not None)
    question = Question("question", request.question, request.answer, {})
    neighbours = steps.neighbours(question, near)
    walk = follow(
        lambda facts: score_step(question, neighbours, facts, steps, near),
        Search(length=request.length, least=request.least),
    )
    ranking = walk.ranking(question, near)[: request.top].tolist()
    assert walk.stopped is not None
    return ChainAnswer(
        scorer=name,
        revision=scorer.revision if scorer else None,
        method=scorer.form.scheme if scorer else TFIDF,
        corpus=info.name if info else None,
        corpus_version=info.version if info else None,
        corpus_hash=corpus.hash,
        count=len(corpus),
        chain=[_fact(corpus, position) for position in walk.facts],
        stopped=walk.stopped,
        dropped=max(0, walk.steps[-1].dropped),
        question_cut=walk.steps[-1].dropped < 0,
        facts_cut=len(walk.cut),
        steps=[
            ChainStep(
                chosen=corpus.keys[walk.facts[number]] if number < len(walk.facts) else None,
                bare=step.stop_score,
                visible=len(step.candidates),
                joined=len(step.newly_visible),
                candidates=_candidates(corpus, step, request.candidates),
            )
            for number, step in enumerate(walk.steps)
        ],
        ranking=[_fact(corpus, position) for position in ranking],
        chosen=[position in walk.facts for position in ranking],
    )


def _candidates(corpus: Corpus, step: Step, count: int) -> list[ChainCandidate]:
    best = list(zip(step.candidates, step.scores, strict=True))[:count]
    return [
        ChainCandidate(
            **_fact(corpus, position).model_dump(), score=score, joined=position in step.newly_visible
        )
        for position, score in best
    ]


def _fact(corpus: Corpus, position: int) -> ChainFact:
    return ChainFact(text=corpus.texts[position], key=corpus.keys[position], position=position)


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


@state.get("/info", summary="What the server is and has")
async def info(request: Request, service: ServiceDep) -> Info:
    """Return version, device, encoders with revisions, scorers, corpora, endpoints and limits."""
    endpoints = [
        EndpointInfo(path=path, method=method.upper())
        for path, operations in request.app.openapi()["paths"].items()
        for method in operations
    ]
    return await service.in_thread(lambda: _collect(service, endpoints))


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
        rerankers=list_rerankers(),
        scorers=[
            ScorerInfo(name=name, revision=service.scorers.revision(name), method=scorer.form.scheme)
            for name, scorer in service.scorers.available().items()
        ],
        corpora=corpora,
        endpoints=endpoints,
        limits=asdict(service.limits),
    )
