"""Endpoints of the API; another package adds its own by `app.include_router`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Depends, Response

from entail.arcf.chains.chain import Search, build_chain, corpus_facts
from entail.arcf.scoring.scorer import METHOD, ListedScorer, list_scorers
from entail.cancellation import cancellable
from entail.claims import existence_claim, state_answer
from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.data.worldtree.questions import Question
from entail.encoders.cross.reranker import list_rerankers
from entail.encoders.device import device_name
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import ServingError, UnknownEncoderError
from entail.evaluation.chains import TFIDF
from entail.gausscse.verdict import judge
from entail.index.factory import rerank
from entail.index.gaussian import Direction
from entail.index.protocol import Hits
from entail.registry.models import active_name
from entail.runtime.batching import current_call
from entail.runtime.chains import make_builder, take_builder, take_scorer
from entail.runtime.models import model_cache
from entail.runtime.searches import Depth, search_now, search_together
from entail.runtime.tasks import finish
from entail.serving import messages
from entail.serving.admission import ApiRoute, admit
from entail.serving.errors import GET_ERRORS, POST_ERRORS, error_responses
from entail.serving.service import Service, ServiceDep
from entail.version import __version__

if TYPE_CHECKING:
    from entail.trees.store.corpora import CorpusInfo as StoredCorpus

_LIMITED = [Depends(admit)]

public = APIRouter(route_class=ApiRoute, responses=error_responses(*GET_ERRORS))
"""Routes that answer without a token and at any load."""

queries = APIRouter(route_class=ApiRoute, dependencies=_LIMITED, responses=error_responses(*POST_ERRORS))
state = APIRouter(route_class=ApiRoute, dependencies=_LIMITED, responses=error_responses(*GET_ERRORS, 504))

_DIRECTIONS: Mapping[messages.Way, Direction] = {"entails": "entailing", "entailed": "entailed"}


@queries.post("/encode", summary="Texts to vectors")
async def encode(request: messages.EncodeRequest, service: ServiceDep) -> messages.EncodeAnswer:
    """Encode texts by the query or the premise tower.

    An encoder of Gaussians (GaussCSE) has one tower and answers with means and log variances. Texts of
    simultaneous requests are encoded together.
    """
    return await service.in_thread(lambda: _encode(service, request))


def _encode(service: Service, request: messages.EncodeRequest) -> messages.EncodeAnswer:
    encoder = service.encoder(request.encoder)
    about = {"encoder": encoder.name, "revision": encoder.revision}
    if encoder.entry.gaussian is None:
        return messages.EncodeAnswer.of(encoder.encode(request.texts, request.tower), request, **about)
    return messages.EncodeAnswer.of(GaussianEncoder(encoder).encode(request.texts), request, **about)


@queries.post("/search", summary="Queries to the nearest premises")
async def search(request: messages.SearchRequest, service: ServiceDep) -> messages.SearchAnswer:
    """Return the k nearest premises of each query, from a corpus of the installation or of the request.

    An encoder of Gaussians (GaussCSE) finds the premises that entail a query, or those that it entails. While
    the index of a corpus is in construction, the answer is 503 with Retry-After.
    """
    return await service.in_thread(lambda: _search(service, request))


def _search(service: Service, request: messages.SearchRequest) -> messages.SearchAnswer:
    name = request.retriever
    if name is None and request.direction is not None:
        name = service.encoder(gaussian=True).name
    name = name or service.default(request.corpus)
    direction = _direction(service, name, request)
    way = _DIRECTIONS[direction or "entails"]
    source = _source(service, request.corpus, request.premises)
    corpus = source.corpus
    search = search_now
    if source.info is None:
        index = model_cache().build(name, corpus, cached=False)
    else:
        service.remember(source.info.name, request.queries)
        index = service.index(name, corpus, current_call.get(), direction=way)
        search = search_together
    if request.reranker is not None:
        index, search = rerank(index, corpus, service.reranker(request.reranker)), search_now
    hits = search(index, request.queries, Depth(request.k, way))
    return messages.SearchAnswer(
        retriever=index.name,
        revision=index.manifest.revision,
        direction=direction,
        **source.about,
        hits=_to_messages(hits, source),
    )


def _direction(service: Service, name: str, request: messages.SearchRequest) -> messages.Way | None:
    """Return the direction of a search, None for a retriever of points."""
    if name not in (names := service.retrievers()):
        message = f"no retriever of this name is served; available: {', '.join(names)}"
        raise ServingError(message, kind="unknown_encoder", status=404, field="retriever")
    gaussian = service.entries(gaussian=True)
    if name in gaussian:
        return request.direction or "entails"
    if request.direction is not None:
        raise ServingError(
            f"expected no direction with {name!r}, which makes no Gaussians, found one; leave it out, or "
            f"take an encoder of Gaussians as retriever; available: {', '.join(gaussian) or 'none'}",
            field="direction",
        )
    return None


def _to_messages(hits: Hits, source: _Source) -> list[list[messages.Hit]]:
    rows = zip(hits.positions.tolist(), hits.scores.tolist(), strict=True)
    return [
        [
            messages.Hit(rank=rank, score=score, **source.text(position))
            for rank, (position, score) in enumerate(zip(*row, strict=True), start=1)
        ]
        for row in rows
    ]


@queries.post("/direction", summary="Which of two sentences entails the other")
async def direction(request: messages.DirectionRequest, service: ServiceDep) -> messages.DirectionAnswer:
    """Judge each pair by an encoder of Gaussians (GaussCSE); 404 if none is served."""
    return await service.in_thread(lambda: _judge(service, request))


def _judge(service: Service, request: messages.DirectionRequest) -> messages.DirectionAnswer:
    encoder = GaussianEncoder(service.encoder(request.encoder, gaussian=True))
    verdicts = judge(encoder, request.first, request.second)
    return messages.DirectionAnswer(
        encoder=encoder.name,
        revision=encoder.revision,
        threshold=encoder.form.threshold,
        pairs=[messages.PairDirection.model_validate(verdict, from_attributes=True) for verdict in verdicts],
    )


@queries.post("/claim", summary="A question to the claim that its answer exists")
async def claim(request: messages.ClaimRequest, service: ServiceDep) -> messages.ClaimAnswer:
    """Return the existence claim of each question, which a passage that answers it entails.

    Applies rules, without an encoder.
    """
    questions = request.questions
    answers: Sequence[str | None] = request.answers or [None] * len(questions)
    claims = await service.in_thread(lambda: list(map(_to_claim, cancellable(questions), answers)))
    return messages.ClaimAnswer(claims=claims)


def _to_claim(question: str, answer: str | None) -> messages.QuestionClaim:
    claim = existence_claim(question)
    return messages.QuestionClaim(
        question=claim.question,
        claim=claim.text,
        rule=claim.rule,
        fallback=claim.fallback,
        statement=state_answer(question, answer).text if answer is not None else None,
    )


@queries.post("/chain", summary="The facts that explain an answer, one after another")
async def chain(request: messages.ChainRequest, service: ServiceDep) -> messages.ChainAnswer:
    """Build the chain of facts that explains an answer, and rank all facts by it.

    Uses a scorer of facts (ARCF), or shared words (`tfidf`), which is the default where no scorer is served.
    Facts come from a corpus of the installation or from the request. One request is scored at a time.
    """
    return await service.in_thread(lambda: _build_chain(service, request), service.scoring)


def _scorers() -> dict[str, ListedScorer]:
    return {scorer.name: scorer for scorer in list_scorers() if scorer.problem is None}


def _build_chain(service: Service, request: messages.ChainRequest) -> messages.ChainAnswer:
    source = _source(service, request.corpus, request.facts)
    corpus = source.corpus
    if not len(corpus):
        raise ServingError("expected a corpus with facts, found an empty one", field="corpus")
    listed = _scorers()
    name = request.scorer or active_name("chains", listed) or TFIDF
    if name not in (TFIDF, *listed):
        names = ", ".join([TFIDF, *listed])
        raise UnknownEncoderError(f"no scorer of this name is served; available: {names}")
    scorer = None if name == TFIDF else finish(take_scorer(name, listed[name].revision, wait=0))
    facts = corpus_facts(corpus)
    if source.info is None:
        builder = make_builder(facts, scorer, k=request.k)
    else:
        builder = finish(take_builder(facts, scorer, k=request.k, wait=0))
    steps, near = builder.steps, builder.around
    question = Question("question", request.question, request.answer, {})
    walk = build_chain(question, steps, near, Search(length=request.length, least=request.least))
    ranking = walk.ranking(question, near)[: request.top].tolist()
    assert walk.stopped is not None
    return messages.ChainAnswer(
        scorer=name,
        revision=scorer.revision if scorer else None,
        method=METHOD if scorer else TFIDF,
        **source.about,
        chain=[messages.ChainFact(**source.text(position)) for position in walk.facts],
        stopped=walk.stopped,
        dropped=max(0, walk.steps[-1].dropped),
        question_cut=walk.steps[-1].dropped < 0,
        steps=[
            messages.ChainStep(
                chosen=corpus.keys[walk.facts[number]] if number < len(walk.facts) else None,
                bare=step.stop_score,
                visible=len(step.candidates),
                candidates=[
                    messages.ChainCandidate(**source.text(p), score=score, joined=p in step.newly_visible)
                    for p, score in list(zip(step.candidates, step.scores, strict=True))[: request.candidates]
                ],
            )
            for number, step in enumerate(walk.steps)
        ],
        ranking=[messages.ChainFact(**source.text(position)) for position in ranking],
    )


@dataclass(frozen=True)
class _Source:
    """Texts of a request: a corpus of the installation (`info`), or texts that the client sent.

    `rows` are the positions in the request of the texts that count, the first of equal ones.
    """

    corpus: Corpus
    info: StoredCorpus | None
    rows: Sequence[int]

    @property
    def about(self) -> dict[str, Any]:
        """Fields of `CorpusAnswer`."""
        name, version = (self.info.name, self.info.version) if self.info else (None, None)
        count, digest = len(self.corpus), self.corpus.hash
        return {"corpus": name, "corpus_version": version, "corpus_hash": digest, "count": count}

    def text(self, at: int) -> dict[str, Any]:
        """Return the fields of a hit or fact."""
        return {"text": self.corpus.texts[at], "key": self.corpus.keys[at], "position": self.rows[at]}


def _source(service: Service, name: str | None, texts: Sequence[str] | None) -> _Source:
    if texts is None:
        info, corpus = service.corpus(name or "")
        return _Source(corpus, info, range(len(corpus)))
    corpus = Corpus.of("request", texts)
    first = {premise_key(text): row for row, text in reversed(list(enumerate(texts)))}
    return _Source(corpus, None, [first[key] for key in corpus.keys])


@public.get("/health", summary="Whether the server lives")
async def health(service: ServiceDep) -> messages.Health:
    """Return whether the server can answer everything at once; 200 as long as it answers."""
    return messages.Health(live=True, ready=service.reason is None, reason=service.reason)


@public.get(
    "/health/ready",
    summary="Whether the server is ready",
    responses={503: {"model": messages.Health, "description": "Not ready; says why."}},
)
async def health_ready(service: ServiceDep, response: Response) -> messages.Health:
    """Return the same with status 200 if the server is ready, else 503; for load balancers."""
    state = await health(service)
    response.status_code = 200 if state.ready else 503
    return state


@state.get("/info", summary="What the server is and has")
async def info(service: ServiceDep) -> messages.Info:
    """Return version, device, encoders with revisions, scorers, corpora and limits."""
    return await service.in_thread(lambda: _collect(service))


def _collect(service: Service) -> messages.Info:
    encoders = []
    for name, entry in service.entries().items():
        loaded = model_cache().loaded(name)
        encoders.append(
            messages.EncoderInfo(
                name=name,
                revision=loaded.revision if loaded else entry.revision,
                method=entry.method,
                gaussian=entry.gaussian is not None,
                dimension=entry.space_dimension,
                licence=entry.licence,
                loaded=loaded is not None,
            )
        )
    corpora = [
        messages.CorpusInfo(
            name=corpus.name,
            version=corpus.version,
            count=corpus.count,
            licence=corpus.licence,
            active=service.default(corpus.name),
        )
        for corpus in service.corpora()
    ]
    return messages.Info(
        version=__version__,
        device=device_name(),
        default_encoder=service.default(),
        encoders=encoders,
        retrievers=service.retrievers(),
        rerankers=list_rerankers(),
        scorers=list(_scorers()),
        corpora=corpora,
        limits=asdict(service.limits),
    )
