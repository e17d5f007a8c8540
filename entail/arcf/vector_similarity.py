r"""How near a question a fact lies as a vector, as a term of its score.

.. math::
    c(q, f) = \cos(e(q), e(f))

for an encoder e that reads the question with its answer by itself. A prefix means what the question means
and what every fact chosen so far does, so the question's own meaning is thinned out by them, as its words are
(`entail.arcf.word_similarity`). Here it counts the same at every step.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from entail.encoders.biencoder import BiEncoder, load
from entail.index.protocol import Floats

KEPT = 1 << 15
"""Facts whose vectors are kept: 50 MB of MiniLM's."""

Near = Callable[[Sequence[int]], Floats]
"""Positions of facts -> how near each lies, shape (facts,)."""


class VectorSimilarity:
    """The nearness of facts to questions; any number of threads may ask.

    A fact is encoded when it is first asked for, and kept; beyond `KEPT` those not asked for longest go.

    Args:
        encoder: Its name.
        loaded: What gives it, where it is in memory already.
    """

    def __init__(self, encoder: str, *, loaded: Callable[[], BiEncoder] | None = None) -> None:
        self.encoder = encoder
        self._loaded = loaded
        self._own: BiEncoder | None = None
        self._kept: OrderedDict[str, Floats] = OrderedDict()
        self._turn = threading.Lock()

    def behind(self, questions: Sequence[str], facts: Sequence[str]) -> list[Near]:
        """Return what says how near each question some of the facts are.

        Raises:
            EncoderError: If the encoder cannot be loaded.
        """

        def near_to(vector: Floats) -> Near:
            def near(some: Sequence[int]) -> Floats:
                found: Floats = self._vectors([facts[fact] for fact in some], len(vector)) @ vector
                return found

            return near

        return [near_to(vector) for vector in self._encoder().encode_queries(list(questions))]

    def _encoder(self) -> BiEncoder:
        if self._loaded is not None:
            return self._loaded()
        with self._turn:
            self._own = self._own or load(self.encoder)
            return self._own

    def _vectors(self, texts: Sequence[str], d: int) -> Floats:
        """Return the vectors of facts, shape (texts, d)."""
        with self._turn:
            there = {text: self._kept[text] for text in texts if text in self._kept}
            for text in there:
                self._kept.move_to_end(text)
        new = [text for text in dict.fromkeys(texts) if text not in there]
        if new:
            there.update(zip(new, self._encoder().encode_premises(new), strict=True))
            with self._turn:
                self._kept.update({text: there[text] for text in new})
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
        found: Floats = np.array([there[text] for text in texts], dtype=np.float32).reshape(len(texts), d)
        return found
