"""Encoders: texts to vectors, with weights loaded on first use."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from entail.data.text import without_surrogates
from entail.encoders.catalogue import EncoderEntry, Tower, fetch, resolve, verify
from entail.encoders.device import Precision, device_name
from entail.encoders.row_batches import Ints, budget_of, token_batches
from entail.encoders.towers import Tokens, Towers, load_towers
from entail.errors import EncoderError
from entail.progress import Meter, ProgressCallback

Floats = NDArray[np.float32]

PASS_TOKENS = 1_024
"""Tokens of a forward pass on a processor, so that MiniLM's activations stay in its cache."""

_SLICE = 4096
"""Texts that are tokenized at once."""


@runtime_checkable
class Encoder(Protocol):
    """Texts to vectors whose inner product is their similarity, queries and premises each by their own tower.

    They have length 1, but for premises of an encoder by dot product (see `BiEncoder.encode`).
    """

    @property
    def name(self) -> str:
        """Display name."""

    @property
    def revision(self) -> str:
        """Revision of its query vectors; it changes with the weights."""

    @property
    def premise_revision(self) -> str:
        """Revision of its premise vectors; encoders with one premise tower share it."""

    @property
    def dimension(self) -> int:
        """Length of a vector, d."""

    @property
    def symmetric(self) -> bool:
        """Whether a text has the same vector as query and as premise."""

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors, shape (texts, d)."""

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors, shape (texts, d)."""


def load(name: str | Path, *, device: str | None = None, precision: Precision = "auto") -> BiEncoder:
    """Return an encoder by name, its weights in memory; see `BiEncoder`.

    >>> load("minilm").encode_queries(["how cold is the moon"]).shape
    (1, 384)
    """
    encoder = BiEncoder(name, device=device, precision=precision)
    encoder.load()
    return encoder


class BiEncoder:
    """An `Encoder` over any sentence-transformers model or PEFT adapter on one.

    The weights are loaded on the first text, or by `load`; one copy serves any number of threads, one batch
    at a time. A plain BERT is run by torch alone (`entail.encoders.bert.model`), which loads in a third of
    the time.

    Precision `auto` is fp32 on a processor and fp16 on a GPU; for Gaussians, whose divergences are sums of
    differences, fp32 on either. bf16 doubles the rate where the processor has AMX or AVX512-BF16 and is far
    slower elsewhere; it changes dev MAP by 0.001, so its vectors have a revision of their own.

    Args:
        encoder: A catalogue name, a folder, or an entry.
        device: `auto`, `cpu`, `cuda`, `cuda:1`; default: `ENTAIL_DEVICE`.
        precision: Precision of the weights and the arithmetic.
        batch_size: Maximum texts of a forward pass; on a processor also at most `PASS_TOKENS` tokens.

    Raises:
        EncoderError: If the name is unknown.
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
        self._towers: Towers | None = None

    @property
    def name(self) -> str:
        """The entry's name."""
        return self._entry.name

    @property
    def entry(self) -> EncoderEntry:
        """Catalogue entry of the weights; a Hub model is fetched first."""
        # A lock of its own, so that the revision is available while the weights are loaded.
        with self._fetching:
            self._entry = fetch(self._entry)
            return self._entry

    @property
    def revision(self) -> str:
        """The entry's revision; a Hub model is fetched first."""
        return self._rounded(self.entry.revision)

    @property
    def premise_revision(self) -> str:
        """Revision of its premise tower; the base's if the adapter is on the query tower alone."""
        return self._rounded(self.entry.premise_revision)

    @property
    def dimension(self) -> int:
        """Length of a vector; loads the model only if its configuration does not say it."""
        return self.entry.dimension or self._loaded().dimension

    @property
    def symmetric(self) -> bool:
        """Whether a text has the same vector as query and as premise."""
        return self.entry.symmetric and self.entry.similarity == "cosine"

    @property
    def device(self) -> str:
        """Device that encodes, `cpu`, `cuda`, `cuda:1` ...; imports torch, raises as `load`."""
        return device_name(self._device)

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._towers is not None

    def load(self) -> None:
        """Load the weights, once."""
        self._loaded()

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors by the query tower, shape (texts, d); see `encode`.

        Raises:
            EncoderError: If the model cannot be loaded, or makes a vector that is not finite or is zero.
        """
        return self.encode(texts, "query", progress=progress)

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return vectors by the premise tower, shape (texts, d); see `encode`, raises as `encode_queries`."""
        return self.encode(texts, "premise", progress=progress)

    def encode(
        self,
        texts: Sequence[str],
        tower: Tower,
        *,
        normalised: bool = True,
        progress: ProgressCallback | None = None,
    ) -> Floats:
        r"""Return vectors by one of the two towers, shape (texts, d); raises as `encode_queries`.

        Normalised vectors have length 1, so that their inner product is a cosine. Premises of an encoder by
        dot product keep their lengths, divided by :math:`\sqrt{d}`, about that of a vector after layer norm:
        a query of length 1 ranks them as the query itself does. Gaussians, whose rows are parameters, must
        not be normalised. A lone surrogate is read as U+FFFD.
        """
        if isinstance(texts, str):
            raise TypeError("expected a list of texts, found one text")
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        texts = [without_surrogates(text) for text in texts]
        activity = "encoding queries" if tower == "query" else "encoding premises"
        if self.entry.gaussian is not None:
            activity = "encoding as Gaussians"  # by one tower, whatever the sentences are used for
        meter = Meter(len(texts), activity, unit="sentences", report=progress)
        meter.add(0)
        towers = self._loaded()
        if normalised and self.entry.gaussian is not None:
            raise EncoderError(
                f"{self.name}: expected an encoder of points, found one of Gaussians, which have no cosine; "
                "choose another one here, or use this one for entailment direction"
            )
        tokens: list[Tokens] = []
        for start in range(0, len(texts), _SLICE):
            meter.add(0)  # ends here when it is cancelled
            tokens += towers.tokens(texts[start : start + _SLICE])
        # Texts of equal tokens are encoded once: a batch's other texts move a vector by 1e-7.
        first: dict[Tokens, int] = {}
        positions = [first.setdefault(ids, position) for position, ids in enumerate(tokens)]
        distinct, copies = np.unique(positions, return_inverse=True)
        vectors = np.empty((len(distinct), self.dimension), dtype=np.float32)
        meter.add(len(texts) - len(distinct))
        keeps_length = tower == "premise" and self.entry.similarity == "dot"
        for chunk in self._passes([tokens[i] for i in distinct]):
            with self._lock:
                rows = towers.encode([texts[distinct[i]] for i in chunk], tower)
            unit = _unit(rows, self.name)
            if normalised:
                rows = rows / np.sqrt(rows.shape[1]) if keeps_length else unit
            vectors[chunk] = rows
            meter.add(len(chunk))
            # A lock released and acquired at once starves others: let a waiting query in.
            time.sleep(0.0005)
        return vectors if len(distinct) == len(texts) else vectors[copies]

    def cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is truncated; raises as `load`."""
        return self._loaded().cut([without_surrogates(text) for text in texts])

    def _passes(self, tokens: Sequence[Tokens]) -> list[Ints]:
        """Return positions in groups of similar length, one a forward pass, with little padding.

        A shuffled order, by a fixed seed, makes the rate so far a good estimate of the time left.
        """
        # A text without token ids counts a token for four letters.
        sizes = [len(ids) // 4 + 2 if isinstance(ids, str) else len(ids) for ids in tokens]
        budget = PASS_TOKENS if self.device.startswith("cpu") else budget_of(self.device)
        groups = token_batches(sizes, budget=budget, most=self._batch_size)
        return [groups[turn] for turn in np.random.default_rng(0).permutation(len(groups))]

    def _rounded(self, revision: str | None) -> str:
        return f"{revision}+bf16" if self._precision == "bf16" else str(revision)

    def _loaded(self) -> Towers:
        with self._lock:
            if self._towers is None:
                self._towers = _load(self.entry, device_name(self._device), self._precision)
            return self._towers


def _unit(vectors: Floats, name: str) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EncoderError(
            f"{name}: expected finite vectors, found NaN, infinity or zero; its weights are broken"
        )
    unit: Floats = vectors / lengths
    return unit


def _load(entry: EncoderEntry, device: str, precision: Precision) -> Towers:
    verify(entry.base or entry)
    if precision == "auto" and entry.gaussian is not None:
        precision = "fp32"  # cached Gaussians are bound to the revision alone
    towers = load_towers(entry, device=device, precision=precision)
    if entry.dimension not in (None, towers.dimension):
        raise EncoderError(
            f"{entry.name}: its configuration says vectors of length {entry.dimension}, it makes "
            f"{towers.dimension}"
        )
    return towers
