"""``POST /claim``: questions to their existence claims."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool

from entail.serving.batching import Call
from entail.serving.endpoint import Endpoint
from entail.serving.messages import ClaimAnswer, ClaimRequest, QuestionClaim
from entail.serving.service import Service
from entail.tuning.claims import Claim
from entail.tuning.claims import claim as claim_of


async def claim(service: Service, asked: ClaimRequest, call: Call) -> ClaimAnswer:
    """Return a claim for each question; by rules, no encoder takes part."""
    service.limits.check_texts(asked.questions, "questions")

    def all_claims() -> list[Claim]:
        return [claim_of(question) for question in asked.questions]

    found = await run_in_threadpool(all_claims)
    return ClaimAnswer(
        claims=[
            QuestionClaim(question=one.question, claim=one.text, rule=one.rule, fallback=one.fallback)
            for one in found
        ]
    )


CLAIM = Endpoint(
    path="/claim",
    asks=ClaimRequest,
    answers=ClaimAnswer,
    run=claim,
    summary="A question to the claim that its answer exists",
    description="By the rules of entailment tuning; a passage that answers the question entails the claim.",
)
