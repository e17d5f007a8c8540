"""``POST /chain``: the facts that explain an answer, each chosen in the light of the ones before."""

from __future__ import annotations

from entail.arcf.chain import Search
from entail.arcf.stepwise import Step, follow, step
from entail.data.records import Corpus
from entail.data.worldtree import Question
from entail.errors import ServingError
from entail.serving.batching import Call
from entail.serving.endpoint import Endpoint
from entail.serving.messages import ChainAnswer, ChainCandidate, ChainFact, ChainRequest, ChainStep
from entail.serving.service import Service


async def chain(service: Service, asked: ChainRequest, call: Call) -> ChainAnswer:
    """Return the chain of one question, how it was built, and the ranking that it makes."""
    limits = service.limits
    limits.check_text(asked.question, "question")
    limits.check_text(asked.answer, "answer")
    limits.check_chain(k=asked.k, length=asked.length, top=asked.top, candidates=asked.candidates)
    if (asked.corpus is None) == (asked.facts is None):
        raise ServingError("expected either a corpus or facts, found both or neither", field="corpus")
    if asked.facts is not None:
        limits.check_texts(asked.facts, "facts", most=limits.premises)
    return await service.in_thread(call, lambda: _chain(service, asked, call))


def _chain(service: Service, asked: ChainRequest, call: Call) -> ChainAnswer:
    info = None
    if asked.facts is not None:
        corpus = Corpus.of("request", asked.facts)
    else:
        info, corpus = service.library.corpus(asked.corpus or "")
        if not len(corpus):
            raise ServingError("expected a corpus with facts, found an empty one", field="corpus")
    scorers = service.scorers
    with scorers.alone(call):
        ready = scorers.ready(asked.scorer or scorers.default(), corpus, k=asked.k, keep=info is not None)
        question = Question("question", asked.question, asked.answer, {})
        near = ready.steps.near(question, ready.around)

        def step_of(chosen: tuple[int, ...]) -> Step:
            call.check()
            return step(question, near, chosen, ready.steps, ready.around)

        walk = follow(step_of, Search(length=asked.length, least=asked.least))
        ranking = walk.ranking(question, ready.around)[: asked.top].tolist()
    assert walk.stopped is not None
    chosen = dict.fromkeys(walk.facts)
    return ChainAnswer(
        scorer=ready.name,
        revision=ready.revision,
        method=ready.method,
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
                candidates=[
                    ChainCandidate(
                        **_fact(corpus, position).model_dump(), score=score, joined=position in one.joined
                    )
                    for position, score in list(zip(one.candidates, one.scores, strict=True))[
                        : asked.candidates
                    ]
                ],
            )
            for number, one in enumerate(walk.steps)
        ],
        ranking=[_fact(corpus, position) for position in ranking],
        chosen=[position in chosen for position in ranking],
    )


def _fact(corpus: Corpus, position: int) -> ChainFact:
    return ChainFact(text=corpus.texts[position], key=corpus.keys[position], position=position)


CHAIN = Endpoint(
    path="/chain",
    asks=ChainRequest,
    answers=ChainAnswer,
    run=chain,
    summary="The facts that explain an answer, one after another",
    description="By a scorer of facts (ARCF), or by shared words (`tfidf`), which is the baseline and all "
    "there is until a scorer was trained. The facts are a corpus of the installation's, by name, or come "
    "with the request. One request is scored at a time.",
)
