"""What a candidate shares with a prefix by its words alone, as a term of its score.

Word pieces that both have, rare ones counting for more: the cosine of their sets,

    o(a, b) = sum_{t in a and b} idf_t^2 / (|a| |b|),   |a|^2 = sum_{t in a} idf_t^2,

added to the score with a learnt weight. A small scorer then need not learn to match words by heart, which the
tf-idf baseline does for nothing; what it learns is what shared words do not say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from entail.arcf.inputs import by_prefix
from entail.encoders.cross import PairScorer
from entail.encoders.pairs import Frame, Ids, Pair, Tokenize
from entail.encoders.row_batches import Spent
from entail.encoders.tensors import open_tensors
from entail.index.protocol import Floats

IDF = "idf.safetensors"
"""The weights of word pieces in a scorer's folder: `idf`, (pieces,)."""


class SharedPieces:
    """The overlap o of two texts as token ids.

    >>> pieces = SharedPieces.of([(1, 2), (2, 3)])
    >>> pieces([((1, 2), (1, 2)), ((1, 2), (3,)), ((1, 2), ())]).round(3).tolist()
    [1.0, 0.0, 0.0]

    Args:
        idf: The weight of each token; tokens beyond weigh nothing.
    """

    def __init__(self, idf: Floats) -> None:
        self.idf = np.asarray(idf, dtype=np.float32)
        self._squares: list[float] = (self.idf.astype(np.float64) ** 2).tolist()

    @classmethod
    def of(cls, facts: Sequence[Ids]) -> SharedPieces:
        """Weigh tokens by how few facts have them, idf_t = ln((1 + facts) / (1 + facts with t))."""
        counts = np.zeros(1 + max((max(ids, default=0) for ids in facts), default=0), dtype=np.int64)
        for ids in facts:
            counts[list(set(ids))] += 1
        idf = np.log((1 + len(facts)) / (1 + counts))
        return cls(np.where(counts > 0, idf, 0.0).astype(np.float32))

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """Return o of each pair, shape (pairs,)."""
        found = np.zeros(len(pairs), dtype=np.float32)
        for prefix, places in by_prefix(pairs).items():
            own = self._known(prefix)
            length = self._length(own)
            for place in places:
                other = self._known(pairs[place][1])
                if shared := self._sum(own & other):
                    found[place] = shared / (length * self._length(other))
        return found

    def save(self, folder: Path) -> None:
        """Write the weights into a scorer's folder."""
        from safetensors.numpy import save_file

        save_file({"idf": self.idf}, str(folder / IDF))

    @classmethod
    def read(cls, folder: Path) -> SharedPieces:
        """Take back what `save` wrote.

        Raises:
            EncoderError: If it is not there, or damaged.
        """
        import torch

        with open_tensors(folder / IDF, name=folder.name, device="cpu", dtype=torch.float32) as tensors:
            return cls(tensors.get("idf", None).numpy())

    def _known(self, ids: Ids) -> frozenset[int]:
        return frozenset(token for token in ids if token < len(self._squares))

    def _sum(self, tokens: Collection[int]) -> float:
        return sum(self._squares[token] for token in tokens)

    def _length(self, tokens: Collection[int]) -> float:
        return float(np.sqrt(self._sum(tokens)))


class SharingScorer:
    """A scorer to whose scores the overlap is added.

    Args:
        scorer: What reads the texts.
        pieces: The overlap.
        weight: What it counts.
    """

    def __init__(self, scorer: PairScorer, pieces: SharedPieces, weight: float) -> None:
        self._scorer, self._pieces, self._weight = scorer, pieces, weight

    @property
    def tokenize(self) -> Tokenize:
        """Texts to token ids."""
        return self._scorer.tokenize

    @property
    def frame(self) -> Frame:
        """The tokens around a pair."""
        return self._scorer.frame

    @property
    def longest(self) -> int:
        """Tokens of a row that are read."""
        return self._scorer.longest

    @property
    def spent(self) -> Spent:
        """Passes and tokens so far."""
        return self._scorer.spent

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return a score a pair, shape (pairs,)."""
        found: Floats = self._scorer.score(pairs) + np.float32(self._weight) * self._pieces(pairs)
        return found
