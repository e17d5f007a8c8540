"""Texts to unit vectors, by a sentence-transformers model that is loaded when it is first needed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from entail.encoders.catalogue import EncoderEntry, fetch, resolve, verify
from entail.errors import EncoderError, EntailError, SettingsError
from entail.progress import Meter, ProgressCallback
from entail.settings import load_settings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Floats = NDArray[np.float32]
Precision = Literal["auto", "fp32", "fp16", "bf16"]


@runtime_checkable
class Encoder(Protocol):
    """Texts to vectors of length 1, queries and premises each by their own tower."""

    @property
    def name(self) -> str:
        """How a person calls it."""
        ...

    @property
    def revision(self) -> str:
        """What its vectors are bound to: other weights, other revision."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector, d."""
        ...

    @property
    def symmetric(self) -> bool:
        """Whether a text has the same vector as query and as premise."""
        ...

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors, shape (texts, d)."""
        ...

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors, shape (texts, d)."""
        ...


class BiEncoder:
    """An `Encoder` over any sentence-transformers model or PEFT adapter on one.

    The weights are loaded on the first text, or by `load`; one copy serves any number of threads, one
    batch at a time. Nothing is printed.

    Precision `auto` is fp32 on a processor and fp16 on a GPU. bf16 doubles the rate where the processor
    has AMX or AVX512-BF16 and is far slower elsewhere; it moves dev MAP by 0.001, so it is asked for by
    name and its vectors have a revision of their own.

    Args:
        encoder: A catalogue name, a folder, or an entry.
        device: `auto`, `cpu`, `cuda`, `cuda:1`; default: `ENTAIL_DEVICE`.
        precision: Of the weights and the arithmetic.
        batch_size: Texts a forward pass.

    Raises:
        EncoderError: If the name leads nowhere.
    """

    def __init__(
        self,
        encoder: str | Path | EncoderEntry,
        *,
        device: str | None = None,
        precision: Precision = "auto",
        batch_size: int = 64,
    ) -> None:
        self._entry = encoder if isinstance(encoder, EncoderEntry) else resolve(encoder)
        self._device = device
        self._precision = precision
        self._batch_size = batch_size
        self._lock = threading.RLock()
        self._fetching = threading.Lock()
        self._model: SentenceTransformer | None = None

    def __repr__(self) -> str:
        return f"BiEncoder({self._entry.name!r}, loaded={self.loaded})"

    @property
    def name(self) -> str:
        """The entry's name."""
        return self._entry.name

    @property
    def entry(self) -> EncoderEntry:
        """Where the weights come from; a Hub model is fetched first."""
        # A lock of its own: who only asks for the revision does not wait while the weights are loaded.
        with self._fetching:
            self._entry = fetch(self._entry)
            return self._entry

    @property
    def revision(self) -> str:
        """The entry's revision; a Hub model is fetched first."""
        revision = self.entry.revision
        if revision is None:
            raise EncoderError(f"{self.name}: expected an entry with a revision; get it by resolve()")
        return f"{revision}+bf16" if self._precision == "bf16" else revision

    @property
    def dimension(self) -> int:
        """Length of a vector; loads the model only where its configuration does not say it."""
        known = self.entry.dimension
        if known is not None:
            return known
        return _dimension(self.load())

    @property
    def symmetric(self) -> bool:
        """Whether the model has neither routes nor prompts."""
        return self.entry.symmetric

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._model is not None

    def load(self) -> SentenceTransformer:
        """Bring the weights into memory, once, and return the model.

        Raises:
            EncoderError: If the weights are not what they should be or cannot be loaded.
            SettingsError: If the device is not there.
        """
        with self._lock:
            if self._model is None:
                model = _load(self.entry, device=self._device, precision=self._precision)
                expected, found = self.entry.dimension, _dimension(model)
                if expected is not None and expected != found:
                    raise EncoderError(
                        f"{self.name}: its configuration says vectors of length {expected}, it makes {found}"
                    )
                self._model = model
            return self._model

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors by the query route, shape (texts, d).

        Raises:
            EncoderError: If the model cannot be loaded, or makes a vector that is not finite or is zero.
        """
        return self._encode(
            texts, "encode_query", Meter(len(texts), "encoding queries", unit="sentences", report=progress)
        )

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors by the document route, shape (texts, d); raises as `encode_queries`."""
        return self._encode(
            texts,
            "encode_document",
            Meter(len(texts), "encoding premises", unit="sentences", report=progress),
        )

    def _encode(self, texts: Sequence[str], route: str, meter: Meter) -> Floats:
        if isinstance(texts, str):
            raise TypeError("expected a list of texts, found one text")
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        if not texts:
            return vectors
        meter.add(0)
        model = self.load()
        for chunk in _chunks(texts, self._batch_size):
            with self._lock:
                encode = getattr(model, route)
                found = encode(
                    [texts[i] for i in chunk],
                    batch_size=self._batch_size,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
            vectors[chunk] = _unit(np.asarray(found, dtype=np.float32), self.name)
            meter.add(len(chunk))
            # A lock let go and taken again at once starves others: let a waiting query in.
            time.sleep(0.0005)
        return vectors


def _chunks(texts: Sequence[str], batch_size: int) -> Iterator[list[int]]:
    """Positions in groups of like length, so that little is padded.

    The groups come in a shuffled order (of a fixed seed): the rate so far then tells the time left.
    """
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    starts = range(0, len(order), batch_size)
    for group in np.random.default_rng(0).permutation(len(starts)):
        start = starts[int(group)]
        yield order[start : start + batch_size]


def _unit(vectors: Floats, name: str) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EncoderError(
            f"{name}: expected finite vectors, found NaN, infinity or zero; its weights are broken"
        )
    unit: Floats = vectors / lengths
    return unit


def _dimension(model: SentenceTransformer) -> int:
    found = model.get_embedding_dimension()
    if found is None:
        raise EncoderError("the model does not say how long its vectors are")
    return int(found)


def _load(entry: EncoderEntry, *, device: str | None, precision: Precision) -> SentenceTransformer:
    verify(entry)
    whole = entry.base or entry
    verify(whole)
    import torch

    place = _device(device)
    auto = "fp16" if place.startswith("cuda") else "fp32"
    dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[
        auto if precision == "auto" else precision
    ]
    try:
        with _silence():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(
                str(whole.path),
                device=place,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            )
            if entry.base is not None:
                model.load_adapter(str(entry.path))
            return model.to(dtype).eval()
    except EntailError:
        raise
    except Exception as error:  # whatever a foreign folder brings about, its user gets one kind of error
        raise EncoderError(
            f"{entry.name}: cannot be loaded as a sentence-transformers model: {error}"
        ) from error


def _device(asked: str | None) -> str:
    import torch

    name = asked or load_settings().device
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise SettingsError(f"expected a device such as auto, cpu, cuda or cuda:1, found {name!r}") from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise SettingsError(
            f"device {name!r} was asked for, torch sees {torch.cuda.device_count()} GPUs; use cpu"
        )
    return name


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep transformers from drawing bars and reporting while weights are loaded."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # not typed there
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # not typed there
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]  # not typed there
