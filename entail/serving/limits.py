"""Limits of a single request and of all requests together."""

from __future__ import annotations

from dataclasses import dataclass

RERANKED = 16
"""Queries of a request whose lists are re-ranked: each takes about half a second of one core."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server; `GET /info` lists them.

    Those of a request's fields, from `texts` to `chain`, are checked by the models of `messages`.

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
