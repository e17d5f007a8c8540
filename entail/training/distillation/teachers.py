r"""Teachers of unlabelled sentences, as targets of distillation.

`Teaching` has the mean vector of several encoders E_i:

.. math:: t(x) = \sum_i E_i(x) / |\sum_i E_i(x)|

The mean ranks better than each teacher, but costs an encoding per teacher.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from entail.data.text import fold
from entail.encoders.catalogue import EncoderEntry
from entail.encoders.encoder import BiEncoder
from entail.errors import TrainingError
from entail.index.protocol import Floats
from entail.progress import ProgressCallback

_DROPPED = 0.2
"""Share of words."""


@dataclass(frozen=True)
class Teaching:
    """Distinct folded sentences with unit vectors of the teachers, shape (sentences, d), and their names."""

    sentences: tuple[str, ...]
    vectors: Floats
    teachers: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Identity of sentences and vectors."""
        hasher = hashlib.sha256("\n".join(self.sentences).encode())
        hasher.update(np.ascontiguousarray(self.vectors).tobytes())
        return hasher.hexdigest()[:12]

    def without(self, texts: Container[str]) -> Teaching:
        """Return a copy without some sentences, such as the queries of dev."""
        indices = [i for i, sentence in enumerate(self.sentences) if sentence not in texts]
        return Teaching(tuple(self.sentences[i] for i in indices), self.vectors[indices], self.teachers)

    def join(self, other: Teaching) -> Teaching:
        """Return both, with the vectors of the first for sentences of both.

        With an encoder's vectors of its own domain and its base's of another, a tower is trained further
        in the one and keeps what the base knew of the other (replay).
        """
        added = other.without(frozenset(self.sentences))
        vectors = np.concatenate([self.vectors, added.vectors])
        return Teaching(self.sentences + added.sentences, vectors, self.teachers + other.teachers)


def vary(sentences: Sequence[str], *, count: int, seed: int) -> tuple[str, ...]:
    """Return `count` variations of each sentence: words left out, or another sentence's part as its end.

    Distilling them keeps a tower close to its teachers around the sentences that it memorises.

    >>> vary(["ice is cold"], count=2, seed=1)
    ('ice is', 'ice is ice')
    """
    rng = np.random.default_rng(seed)
    words = [fold(sentence).split() for sentence in sentences]
    variations: dict[str, None] = {}
    for _ in range(count):
        for own in words:
            if rng.random() < 0.5:
                variation = [word for word in own if rng.random() > _DROPPED]
            else:
                other = words[rng.integers(len(words))]
                begun = max(2, int(len(own) * rng.uniform(0.3, 0.9)))
                rest = slice(int(len(other) * rng.uniform(0.1, 0.7)))
                variation = own[:begun] + other[rest]
            variations[" ".join(variation)] = None
    originals = {"", *(" ".join(own) for own in words)}
    return tuple(text for text in variations if text not in originals)


def teach(
    teachers: Sequence[str | Path | EncoderEntry],
    sentences: Sequence[str],
    *,
    device: str | None = None,
    progress: ProgressCallback | None = None,
) -> Teaching:
    """Encode sentences by the query towers of teachers on one base.

    Raises:
        TrainingError: If there is no teacher or no sentence, or the teachers' vectors differ in length.
        EncoderError: If a teacher cannot be loaded.
    """
    folded = tuple(dict.fromkeys(map(fold, sentences)))
    if not teachers or not folded:
        raise TrainingError(
            f"expected teachers and sentences to learn from them, found {len(teachers)} and {len(folded)}"
        )
    encoders = [BiEncoder(teacher, device=device) for teacher in teachers]
    dimensions = {encoder.name: encoder.dimension for encoder in encoders}
    if len(set(dimensions.values())) > 1:
        raise TrainingError(f"expected teachers whose vectors are of one length, found {dimensions}")
    total = np.zeros((len(folded), encoders[0].dimension), dtype=np.float32)
    for encoder in encoders:
        total += encoder.encode_queries(folded, progress=progress)
    vectors: Floats = total / np.linalg.norm(total, axis=1, keepdims=True).clip(1e-12)
    return Teaching(folded, vectors, tuple(encoder.name for encoder in encoders))
