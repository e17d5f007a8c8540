"""Vectors of a corpus for a store that other machines read, encoded here or by the workers of a cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from entail.data.records import Corpus
from entail.data.text import fold
from entail.encoders.encoder import Encoder
from entail.errors import EncoderError, SettingsError
from entail.index.encoding.cluster import Batches, encode_on_ray
from entail.index.engines import Numbers
from entail.index.gaussian import row_encoder
from entail.index.store import Halves, VectorStore, locked, write_segment
from entail.index.vectors import ENCODED_AT_ONCE, slug
from entail.progress import Meter, ProgressCallback
from entail.settings import refuse_in_demo

EncodingEngine = Literal["local", "ray"]

WRITTEN_AT_ONCE = 1 << 16
"""Premises of a segment: 50 MB of 384 numbers each."""

WRITTEN_AFTER = 60.0
"""Seconds after which a segment is written that has fewer."""


@dataclass(frozen=True)
class Encoding:
    """What an encoding has written.

    Attributes:
        folder: Folder of the segments.
        revision: Premise revision of the encoder.
        premises: Premises of the corpus.
        encoded: Those encoded now; the others had vectors.
        seconds: Time of encoding and writing.
    """

    folder: Path
    revision: str
    premises: int
    encoded: int
    seconds: float


def encode_corpus(
    corpus: Corpus,
    name: str,
    *,
    store: Path,
    engine: EncodingEngine = "local",
    workers: int | None = None,
    device: str | None = None,
    progress: ProgressCallback | None = None,
) -> Encoding:
    """Encode the premises of a corpus that a vector store lacks, and write them into it.

    This process alone writes, so each premise is written once, whatever workers do twice. A segment is
    written every `WRITTEN_AT_ONCE` premises or `WRITTEN_AFTER` seconds: an encoding that is stopped goes on
    from there.

    Args:
        corpus: The premises.
        name: Encoder: a name, a folder or a Hub id.
        store: Folder of stores, such as `vectors` of a data folder; a folder an encoder revision is made.
        engine: `local` encodes in this process, `ray` on the nodes of a Ray cluster.
        workers: Workers of the cluster; default: one a GPU, else one a CPU.
        device: Device of an encoder; default: `ENTAIL_DEVICE`.
        progress: Receives the progress.

    Raises:
        SettingsError: If `engine` cannot run here or has no workers.
        EncoderError: If the encoder or a worker fails; what was written stays.
    """
    refuse_in_demo("a corpus cannot be encoded")
    if engine == "local" and workers is not None:
        raise SettingsError("workers belong to a cluster: pass --engine ray, or leave out --workers")
    encoder, metric = row_encoder(name, device=device)
    about: dict[str, Any] = {"revision": encoder.premise_revision, "metric": metric}
    folder, numbers = store / slug(encoder.premise_revision), corpus.numbers
    start, encoded = time.perf_counter(), 0
    try:
        with locked(folder, corpus.hash, strict=True):
            rows = VectorStore(folder, dimension=encoder.dimension, **about)
            missing = np.flatnonzero(rows.find_missing(numbers))
            texts = [fold(corpus.texts[position]) for position in missing.tolist()]
            if engine == "local":
                batches = _encode_here(encoder, numbers[missing], texts)
            else:
                batches = encode_on_ray(
                    name,
                    numbers[missing],
                    texts,
                    revision=encoder.premise_revision,
                    workers=workers,
                    device=device,
                )
            meter = Meter(len(missing), "encoding", unit="premises", report=progress)
            waiting: list[tuple[Numbers, Halves]] = []
            written = time.monotonic()
            try:
                for part, values in batches:
                    if not np.isfinite(values).all():
                        raise EncoderError(
                            "the encoder gave NaN or infinity for a premise; its weights are broken"
                        )
                    waiting.append((part, values))
                    meter.add(len(part))
                    is_full = sum(len(part) for part, _ in waiting) >= WRITTEN_AT_ONCE
                    if is_full or time.monotonic() - written > WRITTEN_AFTER:
                        encoded += _write(folder, waiting, **about)
                        written = time.monotonic()
            finally:  # what is encoded is not lost by the failure of a worker, or Ctrl+C
                encoded += _write(folder, waiting, **about)
            if encoded != len(missing):
                raise EncoderError(
                    f"expected {len(missing):,} rows of the workers, received {encoded:,}; run this again, "
                    "which encodes what is missing"
                )
    except OSError as error:
        raise EncoderError(
            f"{folder} cannot be written ({error}); make room or choose another folder, then run this again: "
            "what was written stays"
        ) from error
    return Encoding(folder, encoder.premise_revision, len(corpus), encoded, time.perf_counter() - start)


def _encode_here(encoder: Encoder, numbers: Numbers, texts: list[str]) -> Batches:
    for start in range(0, len(texts), ENCODED_AT_ONCE):
        part = slice(start, start + ENCODED_AT_ONCE)
        yield numbers[part], encoder.encode_premises(texts[part]).astype(np.float16)


def _write(folder: Path, waiting: list[tuple[Numbers, Halves]], **about: Any) -> int:
    """Write the waiting batches as a segment, which then wait no more; return the number of premises."""
    if not waiting:
        return 0
    numbers, rows = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
    waiting.clear()
    write_segment(folder, numbers, rows, **about)
    return len(numbers)
