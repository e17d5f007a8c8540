"""An encoder in memory with the queue in front of it, whose texts go in batches."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

from entail.encoders.biencoder import BiEncoder
from entail.index.protocol import Floats
from entail.index.queries import QueryVectors
from entail.progress import ProgressCallback
from entail.serving.batching import Batcher, Call, Lane
from entail.serving.limits import Limits

current: ContextVar[Call | None] = ContextVar("current", default=None)
"""The request that this thread works for; none while an index is built for all."""


class ServedEncoder:
    """One encoder in memory with the queue in front of it: an `Encoder` whose texts go in batches.

    Texts of a request join the batches of others; an index that is built for all encodes past them, one
    forward pass at a time, so that it holds nobody up.
    """

    def __init__(self, encoder: BiEncoder, limits: Limits) -> None:
        self.encoder = encoder
        self.batcher = Batcher(
            lambda texts, lane: encoder.encode(texts, lane.tower, normalised=lane.normalised),
            name=encoder.name,
            batch=limits.batch,
            queue=limits.queue,
            gather_ms=limits.gather_ms,
        )
        self.queries = QueryVectors(self)

    @property
    def name(self) -> str:
        """How a person calls it."""
        return self.encoder.name

    @property
    def revision(self) -> str:
        """What its query vectors are bound to."""
        return self.encoder.revision

    @property
    def premise_revision(self) -> str:
        """What its premise vectors are bound to."""
        return self.encoder.premise_revision

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.encoder.dimension

    @property
    def symmetric(self) -> bool:
        """Whether a text has the same vector as query and as premise."""
        return self.encoder.symmetric

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors by the query route, shape (texts, d)."""
        return self._encode(texts, Lane("query"), progress)

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors by the document route, shape (texts, d)."""
        return self._encode(texts, Lane("premise"), progress)

    def _encode(self, texts: Sequence[str], lane: Lane, progress: ProgressCallback | None) -> Floats:
        call = current.get()
        if call is None or not texts:
            return self.encoder.encode(texts, lane.tower, progress=progress)
        return call.result(self.batcher.submit(texts, lane))
