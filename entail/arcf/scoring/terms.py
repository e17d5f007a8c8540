"""Score terms that need no encoder: shared word pieces and TF-IDF similarity of words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from entail.arcf.scoring.inputs import by_prefix
from entail.encoders.cross.encoder import PairScorer
from entail.encoders.cross.pairs import Frame, Ids, Pair, Tokenize
from entail.encoders.row_batches import Spent
from entail.encoders.weights import open_tensors
from entail.index.lexical import stemmed_words
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
    def max_length(self) -> int:
        """Tokens of a row that are read."""
        return self._scorer.max_length

    @property
    def spent(self) -> Spent:
        """Passes and tokens so far."""
        return self._scorer.spent

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return a score a pair, shape (pairs,)."""
        found: Floats = self._scorer.score(pairs) + np.float32(self._weight) * self._pieces(pairs)
        return found


WORDS = "words.safetensors"
"""The weights of stems in a scorer's folder: `idf`, (buckets,), fp16."""

BUCKETS = 1 << 15

Similar = Callable[[Sequence[str]], Floats]
"""Texts -> how like each all facts are, shape (texts, facts)."""


class WordSimilarity:
    """The similarity of texts by their stems.

    >>> words = WordSimilarity.of(["ice is cold", "fire is hot"])
    >>> words.to(["cold ice", "a hot fire"])(["how cold is ice"]).round(3).tolist()
    [[1.0, 0.0]]

    Args:
        idf: The weight of each bucket of stems.
    """

    def __init__(self, idf: Floats) -> None:
        self.idf = np.asarray(idf, dtype=np.float32)

    @classmethod
    def of(cls, facts: Sequence[str]) -> WordSimilarity:
        """Weigh stems by how few facts have them."""
        from sklearn.feature_extraction.text import TfidfTransformer

        idf = TfidfTransformer().fit(_counts(facts)).idf_
        # As it is kept: what is trained and what is read again are one.
        return cls(idf.astype(np.float16).astype(np.float32))

    def to(self, facts: Sequence[str]) -> Similar:
        """Return what says how like these facts a text is."""
        own = self._vectors(facts).T.tocsr()

        def similar(texts: Sequence[str]) -> Floats:
            found: Floats = (self._vectors(texts) @ own).toarray().astype(np.float32)
            return found

        return similar

    def save(self, folder: Path) -> None:
        """Write the weights into a scorer's folder."""
        from safetensors.numpy import save_file

        save_file({"idf": self.idf.astype(np.float16)}, str(folder / WORDS))

    @classmethod
    def read(cls, folder: Path) -> WordSimilarity:
        """Take back what `save` wrote.

        Raises:
            EncoderError: If it is not there, or damaged.
        """
        import torch

        with open_tensors(folder / WORDS, name=folder.name, device="cpu", dtype=torch.float32) as tensors:
            return cls(tensors.get("idf", BUCKETS).numpy())

    def _vectors(self, texts: Sequence[str]) -> csr_matrix:
        """Return unit vectors of texts, sparse, (texts, buckets); of a text without stems zeros."""
        from sklearn.preprocessing import normalize

        return csr_matrix(normalize(_counts(texts).multiply(self.idf)), dtype=np.float32)


def _counts(texts: Sequence[str]) -> csr_matrix:
    """Return how often each bucket's stems stand in texts, (texts, buckets)."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashed = HashingVectorizer(analyzer=stemmed_words, n_features=BUCKETS, alternate_sign=False, norm=None)
    return csr_matrix(hashed.transform(texts))
