"""Encoders of a server, with a queue in front of each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.distributions import Gaussians
from entail.encoders.gaussian.encoder import squash_means
from entail.encoders.gaussian.form import GaussianForm
from entail.index.gaussian import GaussianRows
from entail.index.protocol import Floats
from entail.index.vectors import QueryVectors
from entail.progress import ProgressCallback
from entail.serving.batching import Batcher, Lane, current_call
from entail.serving.limits import Limits


class ServedEncoder:
    """An `Encoder` in memory that encodes the texts of requests in batches.

    The construction of an index bypasses the queue, one forward pass at a time, so that requests go on.

    Attributes:
        gaussians: View of the same encoder for Gaussians, None for an encoder of points.
        queries: Query vectors that all indexes of the encoder share.
    """

    def __init__(self, encoder: BiEncoder, limits: Limits) -> None:
        self.encoder = encoder
        self.name, self.symmetric = encoder.name, encoder.symmetric
        self.revision, self.premise_revision = encoder.revision, encoder.premise_revision
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
    def dimension(self) -> int:
        """Length of a vector."""
        return self.encoder.dimension

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors of the query tower, shape (texts, d)."""
        return self.encode(texts, Lane("query"), progress=progress)

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors of the premise tower, shape (texts, d)."""
        return self.encode(texts, Lane("premise"), progress=progress)

    def encode(self, texts: Sequence[str], lane: Lane, *, progress: ProgressCallback | None = None) -> Floats:
        """Return vectors by the options of a lane, shape (texts, d); of Gaussians (texts, 2d)."""
        call = current_call.get(None)
        if call is None or not texts:
            return self.encoder.encode(texts, lane.tower, normalised=lane.normalised, progress=progress)
        return call.result(self.batcher.submit(texts, lane))


class ServedGaussians:
    """An encoder of Gaussians over the queue of a `ServedEncoder`."""

    def __init__(self, served: ServedEncoder, form: GaussianForm) -> None:
        self.form, self.kind = form, form.similarity
        self.name, self.revision = served.name, served.revision
        self._served = served
        # There is one tower for queries and premises.
        self._lane = Lane("query", normalised=False)

    @property
    def dimension(self) -> int:
        """Length of a mean, d."""
        return self._served.dimension // 2

    def encode(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Gaussians:
        """Return one Gaussian a text, in order."""
        return self._to_gaussians(self._served.encode(texts, self._lane, progress=progress))

    async def encode_async(self, texts: Sequence[str]) -> Gaussians:
        """Return one Gaussian a text without blocking a thread."""
        return self._to_gaussians(await asyncio.wrap_future(self._served.batcher.submit(texts, self._lane)))

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether the encoder truncates it; loads the model."""
        return self._served.encoder.cut(texts)

    def _to_gaussians(self, values: Floats) -> Gaussians:
        gaussians = Gaussians.of(values, revision=self.revision)
        return squash_means(gaussians) if self.form.tanh else gaussians
