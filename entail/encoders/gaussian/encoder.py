"""Encoder whose vectors are means and log variances of Gaussians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.distributions import Floats64, Gaussians, encode_pairs, similarity
from entail.encoders.gaussian.form import GaussianForm, SimilarityKind
from entail.errors import EncoderError
from entail.progress import ProgressCallback


def is_gaussian(name: str | Path | EncoderEntry) -> bool:
    """Return whether a name is that of an encoder of Gaussians; False for unknown names."""
    try:
        return (name if isinstance(name, EncoderEntry) else resolve(name)).gaussian is not None
    except EncoderError:
        return False


class GaussianEncoder:
    """Texts to diagonal Gaussians: a transformer, a pooling, and a linear map to means and log variances.

    Its weights are those of a `BiEncoder` with the same arguments, in fp32, as a divergence is a sum of
    differences. Log variances are clipped to `LOG_VARIANCE_LIMIT`.

    Raises:
        EncoderError: If the name is unknown, or that of an encoder of points.
    """

    def __init__(
        self,
        encoder: str | Path | EncoderEntry | BiEncoder,
        *,
        device: str | None = None,
        batch_size: int = 64,
    ) -> None:
        if isinstance(encoder, BiEncoder):  # in memory already
            entry = encoder.entry
        else:
            entry = fetch(encoder if isinstance(encoder, EncoderEntry) else resolve(encoder))
        if entry.gaussian is None:
            raise EncoderError(
                f"{entry.name}: expected an encoder of Gaussians, found one of points, which have no "
                "direction; use one trained by `entail train gausscse`"
            )
        self.form: GaussianForm = entry.gaussian
        self._values = (
            encoder
            if isinstance(encoder, BiEncoder)
            else BiEncoder(entry, device=device, precision="fp32", batch_size=batch_size)
        )

    @property
    def name(self) -> str:
        """The entry's name."""
        return self._values.name

    @property
    def entry(self) -> EncoderEntry:
        """Catalogue entry of the weights."""
        return self._values.entry

    @property
    def revision(self) -> str:
        """The entry's revision."""
        return self._values.revision

    @property
    def dimension(self) -> int:
        """Length of a mean, d."""
        return self._values.dimension // 2

    @property
    def kind(self) -> SimilarityKind:
        """Similarity that it was trained for."""
        return self.form.similarity

    @property
    def threshold(self) -> float | None:
        """Similarity sim(h || p) above which the premise p entails h; None if none was fitted."""
        return self.form.threshold

    def load(self) -> None:
        """Load the weights, once; raises as `BiEncoder.load`."""
        self._values.load()

    def encode(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Gaussians:
        """Return one Gaussian a text, in order.

        Raises:
            EncoderError: If the model cannot be loaded, or makes a number that is not finite.
        """
        values = self._values.encode(texts, "query", normalised=False, progress=progress)
        gaussians = Gaussians.of(values, revision=self.revision)
        return squash_means(gaussians) if self.form.tanh else gaussians

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is truncated; raises as `load`."""
        return self._values.cut(texts)

    def similarities(
        self, first: Sequence[str], second: Sequence[str], *, progress: ProgressCallback | None = None
    ) -> Floats64:
        """Return sim(first_i || second_i), shape (n,); raises as `encode_pairs`."""
        first_gaussians, second_gaussians = self.encode_pairs(first, second, progress=progress)
        return similarity(first_gaussians, second_gaussians, kind=self.kind)

    def encode_pairs(
        self, first: Sequence[str], second: Sequence[str], *, progress: ProgressCallback | None = None
    ) -> tuple[Gaussians, Gaussians]:
        """Return the Gaussians of pairs of texts, each distinct one encoded once; raises as `encode`."""
        return encode_pairs(lambda texts: self.encode(texts, progress=progress), first, second)


def squash_means(gaussians: Gaussians) -> Gaussians:
    """Return Gaussians with tanh applied to every mean."""
    return replace(gaussians, mean=np.tanh(gaussians.mean))
