"""``POST /claim``: existence claims of questions."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from entail.claims import existence_claim, state_answer
from entail.errors import ServingError
from entail.serving.admission import ApiRoute
from entail.serving.errors import POST_ERRORS, error_responses
from entail.serving.messages import ClaimAnswer, ClaimRequest, QuestionClaim
from entail.serving.service import ServiceDep

router = APIRouter(route_class=ApiRoute, responses=error_responses(*POST_ERRORS))


@router.post("/claim", summary="A question to the claim that its answer exists")
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
    given: Sequence[str | None] = answers or [None] * len(questions)
    return ClaimAnswer(claims=await run_in_threadpool(lambda: list(map(_answer, questions, given))))


def _answer(question: str, answer: str | None) -> QuestionClaim:
    claim = existence_claim(question)
    return QuestionClaim(
        question=claim.question,
        claim=claim.text,
        rule=claim.rule,
        fallback=claim.fallback,
        statement=state_answer(question, answer).text if answer is not None else None,
    )
