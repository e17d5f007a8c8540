"""Measurement of the texts per second that an encoder encodes on this machine."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from entail.encoders.catalogue import Tower
from entail.encoders.device import device_in_words
from entail.encoders.encoder import BiEncoder
from entail.progress import ProgressCallback
from entail.results import hardware

TOKENS = 17
"""Tokens of each text by the vocabulary of BERT: about as many as a fact of WorldTree has."""

SECONDS = 2.0
"""Approximate duration of the measurement, in seconds."""

_WORDS = (
    *("the", "a", "of", "in", "is", "are", "water", "plant", "animal", "sun"),
    *("earth", "energy", "light", "heat", "food", "air", "rock", "tree", "star", "ice"),
)
_FIRST = 128
_MOST = 16_384


@dataclass(frozen=True)
class Throughput:
    """Result of a measurement.

    Attributes:
        texts: Distinct texts encoded.
        seconds: What they took.
        tower: By whose route.
        device: Where: `cpu`, `cuda` ...
        machine: The same in words.
        at: When, in UTC.
    """

    texts: int
    seconds: float
    tower: Tower
    device: str
    machine: str
    at: datetime

    @property
    def rate(self) -> float:
        """Texts a second."""
        return self.texts / self.seconds


def distinct_texts() -> Iterator[str]:
    """Yield texts of 15 words, each one token, 17 with the two marks around them; never one twice.

    >>> next(distinct_texts()).count(" ")
    14
    """
    tail = " ".join(_WORDS[:8])
    # 20 ** 7 beginnings: more than are ever asked for.
    return (f"{' '.join(head)} {tail}" for head in itertools.product(reversed(_WORDS), repeat=7))


def measure_throughput(
    encoder: BiEncoder,
    *,
    tower: Tower = "query",
    seconds: float = SECONDS,
    progress: ProgressCallback | None = None,
) -> Throughput:
    """Encode texts that are all different, for about so many seconds, loading the weights before.

    What the machine does besides is in the figure: it tells what a person gets now.

    Raises:
        EncoderError: If the encoder cannot be loaded.
        SettingsError: If its device is not there.
    """
    texts = distinct_texts()

    def encode(count: int, report: ProgressCallback | None = None) -> float:
        some = list(itertools.islice(texts, count))
        start = time.perf_counter()
        encoder.encode(some, tower, normalised=False, progress=report)
        return time.perf_counter() - start

    encoder.load()
    # The first batches of a process, and of a shape on a GPU, take longer than those after them.
    encode(_FIRST)
    rate = _FIRST / encode(_FIRST)
    count = min(_MOST, max(_FIRST, round(rate * seconds / _FIRST) * _FIRST))
    taken = encode(count, progress)
    device = encoder.device
    cores = hardware()
    where = f"{cores['cpu']}, {cores['cores']} cores" if device == "cpu" else device_in_words(device)
    return Throughput(count, taken, tower, device, where, datetime.now(UTC))
