"""An encoder in memory with the queue in front of it, whose texts go in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar

from entail.encoders.biencoder import BiEncoder
from entail.encoders.gaussian import squashed
from entail.encoders.gaussian_form import GaussianForm, SimilarityKind
from entail.encoders.gaussians import Gaussians
from entail.index.gaussian import GaussianRows
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

    Attributes:
        gaussians: The same as an encoder of Gaussians, where it is one; then it makes no unit vectors.
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
        form = encoder.entry.gaussian
        self.gaussians = None if form is None else ServedGaussians(self, form)
        self.queries = QueryVectors(self if self.gaussians is None else GaussianRows(self.gaussians))

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
        return self.encode(texts, Lane("query"), progress=progress)

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors by the document route, shape (texts, d)."""
        return self.encode(texts, Lane("premise"), progress=progress)

    def encode(self, texts: Sequence[str], lane: Lane, *, progress: ProgressCallback | None = None) -> Floats:
        """Return what the model makes of texts as a lane has it, shape (texts, numbers of a text)."""
        call = current.get()
        if call is None or not texts:
            return self.encoder.encode(texts, lane.tower, normalised=lane.normalised, progress=progress)
        return call.result(self.batcher.submit(texts, lane))


class ServedGaussians:
    """A `ServedEncoder` as an encoder of Gaussians: its texts go through the same queue.

    Args:
        served: What has the model and the queue.
        form: How its numbers are Gaussians.
    """

    def __init__(self, served: ServedEncoder, form: GaussianForm) -> None:
        self.form = form
        self._served = served
        # One tower, whatever a text is to become.
        self._lane = Lane("query", normalised=False)

    @property
    def name(self) -> str:
        """How a person calls it."""
        return self._served.name

    @property
    def revision(self) -> str:
        """What its Gaussians are bound to."""
        return self._served.revision

    @property
    def dimension(self) -> int:
        """Length of a mean, d."""
        return self._served.dimension // 2

    @property
    def kind(self) -> SimilarityKind:
        """Which similarity it was trained for."""
        return self.form.similarity

    def encode(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Gaussians:
        """Return one Gaussian a text, in order."""
        return self._of(self._served.encode(texts, self._lane, progress=progress))

    async def encode_async(self, texts: Sequence[str]) -> Gaussians:
        """Return the same, no thread waiting for it."""
        return self._of(await asyncio.wrap_future(self._served.batcher.submit(texts, self._lane)))

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Say of each text whether it is longer than what is read of it; loads the model."""
        return self._served.encoder.cut(texts)

    def _of(self, values: Floats) -> Gaussians:
        found = Gaussians.of(values, revision=self.revision)
        return squashed(found) if self.form.tanh else found
