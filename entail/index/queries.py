"""Query vectors, remembered: a text that was encoded once is not encoded again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np

from entail.data.text import fold, premise_key
from entail.encoders.encoder import Encoder
from entail.index.protocol import Floats
from entail.index.vectors import shipped_vectors, unit
from entail.progress import ProgressCallback


class QueryVectors:
    """The query vectors of one encoder, the last used kept, those that ship known from the start.

    One object can serve every index of its encoder, and any number of threads.

    Args:
        encoder: What encodes a text that is not known; otherwise it is left alone, and not loaded.
        capacity: Vectors kept beside those that ship (4,096 of MiniLM are 6 MB).
    """

    def __init__(self, encoder: Encoder, *, capacity: int = 4096) -> None:
        self.encoder = encoder
        self._capacity = capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Floats] = OrderedDict()
        shipped = shipped_vectors(encoder.revision)
        self._shipped = {} if shipped is None else shipped.queries

    def __len__(self) -> int:
        return len(self._kept)

    def encode(
        self,
        texts: Sequence[str],
        *,
        also: Mapping[str, Floats] | None = None,
        progress: ProgressCallback | None = None,
    ) -> Floats:
        """Return unit vectors, shape (texts, d); only texts not yet known reach the encoder, folded.

        Args:
            texts: Queries.
            also: Vectors known from elsewhere, by premise key.
            progress: Told about what has to be encoded.
        """
        if not texts:
            return np.empty((0, self.encoder.dimension), dtype=np.float32)
        keys = [premise_key(text) for text in texts]
        known: dict[str, Floats] = {}
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    known[key] = self._kept[key]
        for key in keys:
            if key not in known and also is not None and key in also:
                known[key] = also[key]
            elif key not in known and key in self._shipped:
                known[key] = unit(self._shipped[key][None])[0]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            # Outside the lock: whoever asks for a known text does not wait for the encoder.
            found = self.encoder.encode_queries([fold(text) for text in missing.values()], progress=progress)
            new = dict(zip(missing, found, strict=True))
            known.update(new)
            with self._lock:
                self._kept.update(new)
                while len(self._kept) > self._capacity:
                    self._kept.popitem(last=False)
        return np.stack([known[key] for key in keys])
