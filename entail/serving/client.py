"""The API from Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

import httpx2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from entail.encoders.gaussians import Gaussians
from entail.errors import ServingError
from entail.serving.messages import (
    ChainAnswer,
    ChainRequest,
    ClaimAnswer,
    ClaimRequest,
    DirectionAnswer,
    DirectionRequest,
    EncodeAnswer,
    EncodeRequest,
    ErrorReply,
    Health,
    Info,
    SearchAnswer,
    SearchRequest,
    Way,
)

Answer = TypeVar("Answer", bound=BaseModel)

LONGEST_WAIT = 60.0
"""Seconds that a client waits at most before it asks again, whatever the server says."""


class Client:
    """Asks one server; may be shared by threads.

    A request that came when too many waited, or before an index was built, is sent again after the time
    that the server says (`Retry-After`).

    Args:
        url: The server's address.
        token: What the server was started with as `ENTAIL_SERVE_TOKEN`.
        timeout: Seconds to wait for an answer.
        attempts: How often a request is sent at most.
        transport: How requests travel, for tests and applications in the same process.
        sleep: What waits between attempts.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8600",
        *,
        token: str | None = None,
        timeout: float = 60.0,
        attempts: int = 5,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = url
        self._attempts, self._sleep = max(1, attempts), sleep
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx2.Client(base_url=url, headers=headers, timeout=timeout, transport=transport)

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def encode(
        self,
        texts: Sequence[str],
        *,
        encoder: str | None = None,
        tower: Literal["query", "premise"] = "query",
        normalised: bool = True,
    ) -> NDArray[np.float32]:
        """Return vectors, shape (texts, d); the active encoder's if none is named.

        Raises:
            ServingError: If the server refuses, the encoder makes Gaussians, or it cannot be reached.
        """
        asked = _message(
            EncodeRequest,
            texts=list(texts),
            encoder=encoder,
            tower=tower,
            normalised=normalised,
            format="base64",
        )
        answer = self.ask("/encode", asked, EncodeAnswer)
        if answer.log_variances is not None:
            raise ServingError(
                f"expected an encoder of points, found {answer.encoder!r}, which makes Gaussians; ask by "
                "encode_gaussians",
                field="encoder",
            )
        return answer.array()

    def encode_gaussians(self, texts: Sequence[str], *, encoder: str) -> Gaussians:
        """Return one Gaussian a text, in order, of the encoder of Gaussians that is named.

        Raises:
            ServingError: If the server refuses, the encoder makes points, or it cannot be reached.
        """
        asked = _message(EncodeRequest, texts=list(texts), encoder=encoder, normalised=False, format="base64")
        return self.ask("/encode", asked, EncodeAnswer).gaussians()

    def search(
        self,
        queries: Sequence[str],
        *,
        corpus: str | None = None,
        premises: Sequence[str] | None = None,
        retriever: str | None = None,
        direction: Way | None = None,
        k: int = 10,
        exclude_own: bool = False,
    ) -> SearchAnswer:
        """Return for each query its k nearest premises of a corpus, by name or given here.

        Args:
            queries: What to search for.
            corpus: The corpus by name; this or `premises`.
            premises: The corpus itself.
            retriever: What ranks; default: the encoder active for the corpus, with `direction` the first
                encoder of Gaussians.
            direction: Of an encoder of Gaussians: premises that `entails` a query, which is what it does
                unasked, or that are `entailed` by it.
            k: Hits a query.
            exclude_own: Leave a query's own text out of its hits.

        Raises:
            ServingError: If the server refuses or cannot be reached.
        """
        asked = _message(
            SearchRequest,
            queries=list(queries),
            corpus=corpus,
            premises=None if premises is None else list(premises),
            retriever=retriever,
            direction=direction,
            k=k,
            exclude_own=exclude_own,
        )
        return self.ask("/search", asked, SearchAnswer)

    def direction(
        self, first: Sequence[str], second: Sequence[str], *, encoder: str | None = None
    ) -> DirectionAnswer:
        """Return for each pair of sentences which entails the other.

        Raises:
            ServingError: If the server refuses, serves no encoder of Gaussians, or cannot be reached.
        """
        asked = _message(DirectionRequest, first=list(first), second=list(second), encoder=encoder)
        return self.ask("/direction", asked, DirectionAnswer)

    def claim(self, questions: Sequence[str], *, answers: Sequence[str] | None = None) -> ClaimAnswer:
        """Return the existence claim of each question, and the rule that made it.

        Args:
            questions: The questions.
            answers: Their answers, as many: each becomes one statement with its question.

        Raises:
            ServingError: If the server refuses or cannot be reached.
        """
        return self.ask(
            "/claim",
            _message(
                ClaimRequest,
                questions=list(questions),
                answers=list(answers) if answers is not None else None,
            ),
            ClaimAnswer,
        )

    def chain(
        self,
        question: str,
        answer: str,
        *,
        corpus: str | None = None,
        facts: Sequence[str] | None = None,
        scorer: str | None = None,
        k: int = 60,
        length: int = 9,
        least: int = 3,
        top: int = 20,
        candidates: int = 5,
    ) -> ChainAnswer:
        """Return the facts that explain an answer, out of a corpus by name or given here, chosen one by one.

        Raises:
            ServingError: If the server refuses or cannot be reached.
        """
        asked = _message(
            ChainRequest,
            question=question,
            answer=answer,
            corpus=corpus,
            facts=None if facts is None else list(facts),
            scorer=scorer,
            k=k,
            length=length,
            least=least,
            top=top,
            candidates=candidates,
        )
        return self.ask("/chain", asked, ChainAnswer)

    def health(self) -> Health:
        """Return whether the server is ready."""
        return self.ask("/health", None, Health)

    def info(self) -> Info:
        """Return what the server is and has."""
        return self.ask("/info", None, Info)

    def ask(self, path: str, message: BaseModel | None, answers: type[Answer]) -> Answer:
        """Send a message and return the answer; for endpoints that have no function of their own.

        Raises:
            ServingError: If the server refuses or cannot be reached.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                return self._once(path, message, answers)
            except ServingError as error:
                if error.retry_after is None or attempt == self._attempts:
                    raise
                self._sleep(min(LONGEST_WAIT, error.retry_after))
        raise AssertionError("at least one attempt is made")

    def _once(self, path: str, message: BaseModel | None, answers: type[Answer]) -> Answer:
        try:
            if message is None:
                found = self._http.get(path)
            else:
                found = self._http.post(
                    path, content=message.model_dump_json(), headers={"Content-Type": "application/json"}
                )
        except httpx2.TimeoutException:
            # Not chained: the client's errors hold the request with its token.
            raise ServingError(f"{self._url} did not answer in time", kind="timeout", status=0) from None
        except httpx2.HTTPError as error:
            raise ServingError(
                f"{self._url} cannot be reached ({type(error).__name__}); is `entail serve` running there?",
                kind="unreachable",
                status=0,
            ) from None
        try:
            if found.is_success:
                return answers.model_validate_json(found.content)
            told = ErrorReply.model_validate_json(found.content).error
        except ValidationError as error:
            raise ServingError(
                f"expected an answer of entail's API from {self._url}, found another one (status "
                f"{found.status_code}); is it another server, or another version?",
                kind="strange",
                status=found.status_code,
            ) from error
        raise ServingError(
            told.message,
            kind=told.kind,
            status=found.status_code,
            field=told.field,
            retry_after=_seconds(found.headers.get("retry-after"))
            if found.status_code in (429, 503)
            else None,
        )


def _message(kind: type[Answer], **fields: object) -> Answer:
    try:
        return kind(**fields)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ServingError(
            str(first["msg"]).removeprefix("Value error, "), kind="invalid", status=0, field=place
        ) from None


def _seconds(said: str | None) -> float | None:
    return float(said) if said is not None and said.isascii() and said.isdigit() else None
