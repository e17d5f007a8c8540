"""``POST /chain``: a chain of facts that explains an answer."""

from __future__ import annotations

from fastapi import APIRouter

from entail.arcf.chains.chain import Search
from entail.arcf.chains.stepwise import Step, follow, step
from entail.data.records import Corpus
from entail.data.worldtree.questions import Question
from entail.errors import ServingError
from entail.serving.admission import ApiRoute
from entail.serving.batching import Call
from entail.serving.errors import POST_ERRORS, error_responses
from entail.serving.messages import ChainAnswer, ChainCandidate, ChainFact, ChainRequest, ChainStep
from entail.serving.service import CallDep, Service, ServiceDep

router = APIRouter(route_class=ApiRoute, responses=error_responses(*POST_ERRORS))


@router.post("/chain", summary="The facts that explain an answer, one after another")
async def chain(request: ChainRequest, service: ServiceDep, call: CallDep) -> ChainAnswer:
    """Build the chain of facts that explains an answer, and rank all facts by it.

    Uses a scorer of facts (ARCF), or shared words (`tfidf`), which is the default until a scorer is trained.
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
    return await service.in_thread(call, lambda: _build(service, request, call))


def _build(service: Service, request: ChainRequest, call: Call) -> ChainAnswer:
    info = None
    if request.facts is not None:
        corpus = Corpus.of("request", request.facts)
    else:
        info, corpus = service.library.corpus(request.corpus or "")
        if not len(corpus):
            raise ServingError("expected a corpus with facts, found an empty one", field="corpus")
    scorers = service.scorers
    with scorers.lock(call):
        builder = scorers.prepare(
            request.scorer or scorers.default(), corpus, k=request.k, cache=info is not None
        )
        question = Question("question", request.question, request.answer, {})
        near = builder.steps.near(question, builder.neighbourhoods)

        def make_step(chosen: tuple[int, ...]) -> Step:
            call.check()
            return step(question, near, chosen, builder.steps, builder.neighbourhoods)

        walk = follow(make_step, Search(length=request.length, least=request.least))
        ranking = walk.ranking(question, builder.neighbourhoods)[: request.top].tolist()
    assert walk.stopped is not None
    return ChainAnswer(
        scorer=builder.name,
        revision=builder.revision,
        method=builder.method,
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
                bare=one.bare,
                visible=len(one.candidates),
                joined=len(one.joined),
                candidates=_candidates(corpus, one, request.candidates),
            )
            for number, one in enumerate(walk.steps)
        ],
        ranking=[_fact(corpus, position) for position in ranking],
        chosen=[position in walk.facts for position in ranking],
    )


def _candidates(corpus: Corpus, one: Step, count: int) -> list[ChainCandidate]:
    best = list(zip(one.candidates, one.scores, strict=True))[:count]
    return [
        ChainCandidate(**_fact(corpus, position).model_dump(), score=score, joined=position in one.joined)
        for position, score in best
    ]


def _fact(corpus: Corpus, position: int) -> ChainFact:
    return ChainFact(text=corpus.texts[position], key=corpus.keys[position], position=position)
