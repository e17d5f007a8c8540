"""Python client of the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

import httpx2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from entail.encoders.gaussian.distributions import Gaussians
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

MAX_RETRY_SECONDS = 60.0
"""Seconds between two attempts at most."""


class Client:
    """Client of one server; threads may share it.

    It retries a request after `Retry-After` if the queue was full or an index is in construction.

    Args:
        url: Address of the server.
        token: The server's `ENTAIL_SERVE_TOKEN`.
        timeout: Seconds to wait for an answer.
        attempts: Maximal number of attempts.
        transport: HTTP transport, for tests and applications in the same process.
        sleep: Function that waits between attempts.
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
        """Return vectors, shape (texts, d), by default of the active encoder.

        Raises:
            ServingError: If the request fails, or the encoder makes Gaussians.
        """
        request = _make(
            EncodeRequest,
            texts=list(texts),
            encoder=encoder,
            tower=tower,
            normalised=normalised,
            format="base64",
        )
        answer = self.ask("/encode", request, EncodeAnswer)
        if answer.log_variances is not None:
            raise ServingError(
                f"expected an encoder of points, found {answer.encoder!r}, which makes Gaussians; call "
                "encode_gaussians",
                field="encoder",
            )
        return answer.array()

    def encode_gaussians(self, texts: Sequence[str], *, encoder: str) -> Gaussians:
        """Return one Gaussian a text, in order.

        Raises:
            ServingError: If the request fails, or the encoder makes points.
        """
        request = _make(EncodeRequest, texts=list(texts), encoder=encoder, normalised=False, format="base64")
        return self.ask("/encode", request, EncodeAnswer).gaussians()

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
        """Return the k nearest premises of each query.

        Args:
            queries: Texts to search for.
            corpus: Name of a corpus; this or `premises`.
            premises: Premises to search.
            retriever: Name of a retriever; by default the encoder active for the corpus, or with `direction`
                the first encoder of Gaussians.
            direction: With an encoder of Gaussians: premises that entail a query (`entails`, the default), or
                that it entails (`entailed`).
            k: Hits a query.
            exclude_own: Whether to leave a query's own text out of its hits.

        Raises:
            ServingError: If the request fails.
        """
        request = _make(
            SearchRequest,
            queries=list(queries),
            corpus=corpus,
            premises=None if premises is None else list(premises),
            retriever=retriever,
            direction=direction,
            k=k,
            exclude_own=exclude_own,
        )
        return self.ask("/search", request, SearchAnswer)

    def direction(
        self, first: Sequence[str], second: Sequence[str], *, encoder: str | None = None
    ) -> DirectionAnswer:
        """Return a verdict for each pair of sentences.

        Raises:
            ServingError: If the request fails, or no encoder of Gaussians is served.
        """
        request = _make(DirectionRequest, first=list(first), second=list(second), encoder=encoder)
        return self.ask("/direction", request, DirectionAnswer)

    def claim(self, questions: Sequence[str], *, answers: Sequence[str] | None = None) -> ClaimAnswer:
        """Return the existence claim of each question and its rule.

        Args:
            questions: The questions.
            answers: One answer a question; both are joined into one statement.

        Raises:
            ServingError: If the request fails.
        """
        return self.ask(
            "/claim",
            _make(
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
        """Return the chain of facts that explains an answer, from a corpus by name or from `facts`.

        The other arguments are those of `ChainRequest`.

        Raises:
            ServingError: If the request fails.
        """
        request = _make(
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
        return self.ask("/chain", request, ChainAnswer)

    def health(self) -> Health:
        """Return whether the server is ready."""
        return self.ask("/health", None, Health)

    def info(self) -> Info:
        """Return version, encoders, scorers, corpora and limits of the server."""
        return self.ask("/info", None, Info)

    def ask(self, path: str, message: BaseModel | None, answers: type[Answer]) -> Answer:
        """Send a request and return the answer; for endpoints without a method here.

        Raises:
            ServingError: If the request fails.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                return self._send(path, message, answers)
            except ServingError as error:
                if error.retry_after is None or attempt == self._attempts:
                    raise
                self._sleep(min(MAX_RETRY_SECONDS, error.retry_after))
        raise AssertionError("at least one attempt is made")

    def _send(self, path: str, message: BaseModel | None, answers: type[Answer]) -> Answer:
        try:
            if message is None:
                response = self._http.get(path)
            else:
                response = self._http.post(
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
            if response.is_success:
                return answers.model_validate_json(response.content)
            detail = ErrorReply.model_validate_json(response.content).error
        except ValidationError as error:
            raise ServingError(
                f"expected an answer of entail's API from {self._url}, found another one (status "
                f"{response.status_code}); is it another server or version?",
                kind="strange",
                status=response.status_code,
            ) from error
        raise ServingError(
            detail.message,
            kind=detail.kind,
            status=response.status_code,
            field=detail.field,
            retry_after=_seconds(response.headers.get("retry-after"))
            if response.status_code in (429, 503)
            else None,
        )


def _make(kind: type[Answer], **fields: object) -> Answer:
    try:
        return kind(**fields)
    except ValidationError as invalid:
        first = invalid.errors(include_input=False, include_url=False)[0]
        path = ".".join(map(str, first["loc"]))
        raise ServingError(
            str(first["msg"]).removeprefix("Value error, "), kind="invalid", status=0, field=path
        ) from None


def _seconds(value: str | None) -> float | None:
    return float(value) if value is not None and value.isascii() and value.isdigit() else None
