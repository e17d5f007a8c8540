"""``POST /claim``: questions to their existence claims."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool

from entail.errors import ServingError
from entail.serving.batching import Call
from entail.serving.endpoint import Endpoint
from entail.serving.messages import ClaimAnswer, ClaimRequest, QuestionClaim
from entail.serving.service import Service
from entail.tuning.answered import statement
from entail.tuning.claims import claim as claim_of


async def claim(service: Service, asked: ClaimRequest, call: Call) -> ClaimAnswer:
    """Return a claim for each question; by rules, no encoder takes part."""
    service.limits.check_texts(asked.questions, "questions")
    if asked.answers is not None:
        service.limits.check_texts(asked.answers, "answers")
        if len(asked.answers) != len(asked.questions):
            raise ServingError(
                f"expected as many answers as questions, {len(asked.questions)}, found {len(asked.answers)}",
                field="answers",
            )

    def all_claims() -> list[QuestionClaim]:
        answers: Sequence[str | None] = asked.answers or [None] * len(asked.questions)
        return [_claim(*pair) for pair in zip(asked.questions, answers, strict=True)]

    return ClaimAnswer(claims=await run_in_threadpool(all_claims))


def _claim(question: str, answer: str | None) -> QuestionClaim:
    found = claim_of(question)
    return QuestionClaim(
        question=found.question,
        claim=found.text,
        rule=found.rule,
        fallback=found.fallback,
        statement=statement(question, answer).text if answer is not None else None,
    )


CLAIM = Endpoint(
    path="/claim",
    asks=ClaimRequest,
    answers=ClaimAnswer,
    run=claim,
    summary="A question to the claim that its answer exists",
    description="By the rules of entailment tuning; a passage that answers the question entails the claim.",
)
