"""Limits of a single request and of all requests together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entail.errors import ServingError

RERANKED = 16
"""Queries of a request whose lists are re-ranked: each takes about half a second of one core."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server; `GET /info` lists them.

    Attributes:
        request_bytes: Bytes of a body.
        texts: Texts or queries of a request.
        chars: Characters of a text.
        chars_in_all: Characters of all texts of one field.
        premises: Premises of a corpus that is part of a request.
        k: Hits a query.
        hits: Hits a request, over all its queries.
        visible: Neighbours of a fact that a chain may ask for.
        chain: Facts of a chain.
        requests: Requests at a time, over all clients.
        queue: Texts in the queue of one encoder.
        batch: Texts encoded together.
        gather_ms: Milliseconds that a batch waits for more texts while several clients ask.
        seconds: Seconds until an answer.
        body_seconds: Seconds until a body has arrived.
        build_seconds: Seconds that a request waits for an index in construction.
    """

    request_bytes: int = 2 * 2**20
    texts: int = 256
    chars: int = 10_000
    chars_in_all: int = 500_000
    premises: int = 2_000
    k: int = 1_000
    hits: int = 20_000
    visible: int = 300
    chain: int = 20
    requests: int = 128
    queue: int = 4_096
    batch: int = 64
    gather_ms: float = 3.0
    seconds: float = 30.0
    body_seconds: float = 10.0
    build_seconds: float = 5.0

    def check_texts(self, texts: Sequence[str], field: str, *, most: int | None = None) -> None:
        """Raise `ServingError`, which names the field, if there are too many texts or one is too long."""
        most = self.texts if most is None else most
        if len(texts) > most:
            raise ServingError(
                f"expected at most {most:,} texts, found {len(texts):,}; send them in several requests",
                kind="too_many",
                field=field,
            )
        if (size := sum(map(len, texts))) > self.chars_in_all:
            raise ServingError(
                f"expected at most {self.chars_in_all:,} characters in all, found {size:,}; send them in "
                "several requests",
                kind="too_many",
                field=field,
            )
        for number, text in enumerate(texts):
            self.check_text(text, f"{field}.{number}")

    def check_text(self, text: str, field: str) -> None:
        """Raise `ServingError`, which names the field, if a text is too long."""
        if len(text) > self.chars:
            raise ServingError(
                f"expected at most {self.chars:,} characters, found {len(text):,}; shorten the text",
                kind="too_long",
                field=field,
            )

    def check_reranked(self, queries: int, *, directed: bool) -> None:
        """Raise `ServingError` if so many queries, or directed ones, cannot be re-ranked in a request."""
        self.check_number("queries", queries, RERANKED)
        if directed:
            raise ServingError(
                "expected either a direction or a reranker, found both: re-rankers order premises that "
                "explain a query",
                field="reranker",
            )

    def check_number(self, field: str, value: int, most: int) -> None:
        """Raise `ServingError`, which names the field, if a number is too large."""
        if value > most:
            raise ServingError(
                f"expected {field} of at most {most:,}, found {value:,}", kind="too_many", field=field
            )
