"""How much one request, and all of them together, may ask of a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entail.errors import ServingError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a server takes on; `GET /info` tells them.

    Attributes:
        request_bytes: Longest body; of a longer one, which is refused, nothing is kept.
        texts: Texts or queries in a request.
        chars: Characters in a text.
        premises: Premises of a corpus that comes with the request.
        k: Hits a query.
        hits: Hits in a request, over all its queries.
        visible: Neighbours of a fact that a chain may ask for.
        chain: Facts of a chain.
        nesting: Depth of the JSON.
        requests: Requests at a time, of all clients.
        queue: Texts that may wait for one encoder.
        batch: Texts encoded at once.
        gather_ms: How long a batch waits for more texts while several clients ask.
        seconds: Time for an answer.
        body_seconds: Time in which a body has to arrive.
        build_seconds: How long a request waits for an index that is being built before it is sent away.
    """

    request_bytes: int = 2 * 2**20
    texts: int = 256
    chars: int = 10_000
    premises: int = 2_000
    k: int = 1_000
    hits: int = 20_000
    visible: int = 300
    chain: int = 20
    nesting: int = 16
    requests: int = 128
    queue: int = 4_096
    batch: int = 64
    gather_ms: float = 3.0
    seconds: float = 30.0
    body_seconds: float = 10.0
    build_seconds: float = 5.0

    def check_texts(self, texts: Sequence[str], field: str, *, most: int | None = None) -> None:
        """Refuse too many texts, or one that is too long.

        Raises:
            ServingError: If there are; names the field.
        """
        most = self.texts if most is None else most
        if len(texts) > most:
            raise ServingError(
                f"expected at most {most:,} texts, found {len(texts):,}; send them in several requests",
                kind="too_many",
                field=field,
            )
        for place, text in enumerate(texts):
            self.check_text(text, f"{field}.{place}")

    def check_text(self, text: str, field: str) -> None:
        """Refuse a text that is too long.

        Raises:
            ServingError: If it is; names the field.
        """
        if len(text) > self.chars:
            raise ServingError(
                f"expected at most {self.chars:,} characters, found {len(text):,}; shorten the text",
                kind="too_long",
                field=field,
            )

    def check_k(self, k: int, queries: int) -> None:
        """Refuse to rank more than is taken on.

        Raises:
            ServingError: If k is too large, alone or times the number of queries.
        """
        most = min(self.k, self.hits // max(queries, 1))
        if k > most:
            raise ServingError(
                f"expected k of at most {most:,} with {queries:,} queries, found {k:,}",
                kind="too_many",
                field="k",
            )

    def check_chain(self, *, k: int, length: int, top: int, candidates: int) -> None:
        """Refuse a chain that is more than is taken on.

        Raises:
            ServingError: If a number is too large; names the field.
        """
        told = {
            "k": (k, self.visible),
            "length": (length, self.chain),
            "top": (top, self.k),
            "candidates": (candidates, self.visible),
        }
        for name, (found, most) in told.items():
            if found > most:
                raise ServingError(
                    f"expected {name} of at most {most:,}, found {found:,}", kind="too_many", field=name
                )
