"""Python client of the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import httpx2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from entail.encoders.gaussian.distributions import Gaussians
from entail.errors import ServingError
from entail.serving import messages
from entail.serving.messages import Tower

Answer = TypeVar("Answer", bound=BaseModel)

MAX_RETRY_SECONDS = 60.0
"""Seconds between two attempts at most."""


class Client:
    """Client of one server; threads may share it.

    It retries a request after `Retry-After` if the queue was full or an index is in construction. Every
    method raises `ServingError` if its request fails.

    Args:
        url: Address of the server.
        token: The server's `ENTAIL_SERVE_TOKEN`.
        timeout: Seconds to wait for an answer.
        attempts: Maximal number of attempts.
        transport: HTTP transport, for applications in the same process.
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
        headers = {"Content-Type": "application/json"}
        headers |= {} if token is None else {"Authorization": f"Bearer {token}"}
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
        self, texts: Sequence[str], *, encoder: str | None = None, tower: Tower = "query"
    ) -> NDArray[np.float32]:
        """Return vectors, shape (texts, d), by default of the active encoder."""
        answer = self._encode(texts=texts, encoder=encoder, tower=tower)
        if answer.log_variances is not None:
            message = f"expected an encoder of points, found {answer.encoder!r}; call encode_gaussians"
            raise ServingError(message, field="encoder")
        return answer.array()

    def encode_gaussians(self, texts: Sequence[str], *, encoder: str) -> Gaussians:
        """Return one Gaussian a text, in order."""
        return self._encode(texts=texts, encoder=encoder).gaussians()

    def search(self, queries: Sequence[str], **options: Any) -> messages.SearchAnswer:
        """Return the nearest premises of each query, from a `corpus` by name or from `premises`.

        The options are the other fields of `messages.SearchRequest`, such as `k` and `retriever`.
        """
        request = _make(messages.SearchRequest, queries=queries, **options)
        return self.ask("/search", request, messages.SearchAnswer)

    def direction(
        self, first: Sequence[str], second: Sequence[str], *, encoder: str | None = None
    ) -> messages.DirectionAnswer:
        """Return a verdict for each pair of sentences."""
        request = _make(messages.DirectionRequest, first=first, second=second, encoder=encoder)
        return self.ask("/direction", request, messages.DirectionAnswer)

    def claim(
        self, questions: Sequence[str], *, answers: Sequence[str] | None = None
    ) -> messages.ClaimAnswer:
        """Return the existence claim of each question; with an answer a question, also their statement."""
        request = _make(messages.ClaimRequest, questions=questions, answers=answers)
        return self.ask("/claim", request, messages.ClaimAnswer)

    def chain(self, question: str, answer: str, **options: Any) -> messages.ChainAnswer:
        """Return the chain of facts that explains an answer, from a `corpus` by name or from `facts`.

        The options are the other fields of `messages.ChainRequest`.
        """
        request = _make(messages.ChainRequest, question=question, answer=answer, **options)
        return self.ask("/chain", request, messages.ChainAnswer)

    def health(self) -> messages.Health:
        """Return whether the server is ready."""
        return self.ask("/health", None, messages.Health)

    def info(self) -> messages.Info:
        """Return version, encoders, scorers, corpora and limits of the server."""
        return self.ask("/info", None, messages.Info)

    def metrics(self) -> str:
        """Return the metrics of the server in the text format of Prometheus."""
        return self._request("/metrics", None).text

    def ask(self, path: str, message: BaseModel | None, answers: type[Answer]) -> Answer:
        """Send a request and return the answer; for endpoints without a method here."""
        for attempt in range(1, self._attempts + 1):
            try:
                return self._send(path, message, answers)
            except ServingError as error:
                if error.retry_after is None or attempt == self._attempts:
                    raise
                self._sleep(min(MAX_RETRY_SECONDS, error.retry_after))
        raise AssertionError("at least one attempt is made")

    def _encode(self, **fields: object) -> messages.EncodeAnswer:
        request = _make(messages.EncodeRequest, **fields)
        return self.ask("/encode", request, messages.EncodeAnswer)

    def _send(self, path: str, message: BaseModel | None, answers: type[Answer]) -> Answer:
        response = self._request(path, None if message is None else message.model_dump_json())
        try:
            return answers.model_validate_json(response.content)
        except ValidationError as error:
            raise self._strange(response) from error

    def _request(self, path: str, content: str | None) -> httpx2.Response:
        try:
            response = self._http.request("GET" if content is None else "POST", path, content=content)
        except httpx2.HTTPError as error:
            # Not chained: the client's errors hold the request with its token.
            kind = "timeout" if isinstance(error, httpx2.TimeoutException) else "unreachable"
            outcome = "none in time" if kind == "timeout" else "no server"
            text = f"expected an answer of {self._url}, found {outcome}; start `entail serve` there"
            raise ServingError(text, kind=kind, status=0) from None
        if response.is_success:
            return response
        try:
            detail = messages.ErrorReply.model_validate_json(response.content).error
        except ValidationError as error:
            raise self._strange(response) from error
        seconds = response.headers.get("retry-after", "")
        again = response.status_code in (429, 503) and seconds.isascii() and seconds.isdigit()
        raise ServingError(
            detail.message,
            kind=detail.kind,
            status=response.status_code,
            field=detail.field,
            retry_after=float(seconds) if again else None,
        )

    def _strange(self, response: httpx2.Response) -> ServingError:
        text = f"expected an answer of entail's API from {self._url}, found one of another server"
        return ServingError(text, kind="strange", status=response.status_code)


def _make(kind: type[Answer], **fields: object) -> Answer:
    try:  # not strict: any sequence is a list here
        return kind.model_validate(fields, strict=False)
    except ValidationError as invalid:
        raise messages.explain(invalid.errors(include_input=False)[0], status=0) from None
