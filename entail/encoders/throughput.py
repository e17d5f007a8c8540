"""Measurement of an encoder's throughput on this machine."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from entail.encoders.device import device_in_words
from entail.encoders.encoder import BiEncoder
from entail.progress import ProgressCallback
from entail.results import hardware

TOKENS = 17
"""Tokens of each text by the vocabulary of BERT, about as many as a fact of WorldTree has."""

SECONDS = 2.0
"""Approximate duration of the measurement."""

_WORDS = (
    *("the", "a", "of", "in", "is", "are", "water", "plant", "animal", "sun"),
    *("earth", "energy", "light", "heat", "food", "air", "rock", "tree", "star", "ice"),
)
_FIRST = 128
_MOST = 16_384


@dataclass(frozen=True)
class Throughput:
    """Number of distinct queries encoded in some seconds; `machine` describes the device."""

    texts: int
    seconds: float
    machine: str
    at: datetime

    @property
    def rate(self) -> float:
        """Texts a second."""
        return self.texts / self.seconds


def distinct_texts() -> Iterator[str]:
    """Yield distinct texts of 15 words, each one token, 17 with the two special tokens.

    >>> next(distinct_texts()).count(" ")
    14
    """
    tail = " ".join(_WORDS[:8])
    return (f"{' '.join(head)} {tail}" for head in itertools.product(reversed(_WORDS), repeat=7))


def measure_throughput(
    encoder: BiEncoder,
    *,
    seconds: float = SECONDS,
    progress: ProgressCallback | None = None,
) -> Throughput:
    """Load an encoder, then encode distinct texts for about `seconds`, under the machine's current load."""
    texts = distinct_texts()

    def encode(count: int, report: ProgressCallback | None = None) -> float:
        batch = list(itertools.islice(texts, count))
        start = time.perf_counter()
        encoder.encode(batch, "query", normalised=False, progress=report)
        return time.perf_counter() - start

    encoder.load()
    # The first batches of a process, and of a shape on a GPU, take longer than later ones.
    encode(_FIRST)
    rate = _FIRST / encode(_FIRST)
    count = min(_MOST, max(_FIRST, round(rate * seconds / _FIRST) * _FIRST))
    duration = encode(count, progress)
    device = encoder.device
    cores = hardware()
    machine = f"{cores['cpu']}, {cores['cores']} cores" if device == "cpu" else device_in_words(device)
    return Throughput(count, duration, machine, datetime.now(UTC))
