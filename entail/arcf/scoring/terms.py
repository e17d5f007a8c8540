"""Score terms that need no encoder: shared word pieces and TF-IDF similarity of words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from entail.arcf.scoring.inputs import by_prefix
from entail.encoders.cross.encoder import PairScorer
from entail.encoders.cross.pairs import Ids, Pair
from entail.encoders.weights import open_tensors
from entail.index.lexical import stemmed_words
from entail.index.protocol import Floats

IDF = "idf.safetensors"
"""Weights of word pieces in a scorer's folder: `idf`, (pieces,)."""

WORDS = "words.safetensors"
"""Weights of stems in a scorer's folder: `idf`, (buckets,), fp16."""

BUCKETS = 1 << 15


def _save_idf(idf: Floats, file: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"idf": idf}, str(file))


def _read_idf(file: Path, size: int | None) -> Floats:
    import torch

    with open_tensors(file, name=file.parent.name, device="cpu", dtype=torch.float32) as tensors:
        idf: Floats = tensors.get("idf", size).numpy()
        return idf


class SharedPieces:
    r"""Overlap o of two texts as sets of token ids a and b, with weights idf_t.

    .. math:: o = \sum_{t \in a \cap b} idf_t^2 / \sqrt{\sum_{t \in a} idf_t^2 \sum_{t \in b} idf_t^2}

    >>> pieces = SharedPieces.of([(1, 2), (2, 3)])
    >>> pieces([((1, 2), (1, 2)), ((1, 2), (3,)), ((1, 2), ())]).round(3).tolist()
    [1.0, 0.0, 0.0]

    Args:
        idf: Weight of each token; tokens beyond weigh nothing.
    """

    def __init__(self, idf: Floats) -> None:
        self.idf = np.asarray(idf, dtype=np.float32)
        self._squares: list[float] = (self.idf.astype(np.float64) ** 2).tolist()

    @classmethod
    def of(cls, facts: Sequence[Ids]) -> SharedPieces:
        """Weigh tokens by their rarity in premises, idf_t = ln((1 + facts) / (1 + facts with t))."""
        counts = np.zeros(1 + max((max(ids, default=0) for ids in facts), default=0), dtype=np.int64)
        for ids in facts:
            counts[list(set(ids))] += 1
        idf = np.log((1 + len(facts)) / (1 + counts))
        return cls(np.where(counts > 0, idf, 0.0).astype(np.float32))

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """Return o of each pair, shape (pairs,)."""
        overlap = np.zeros(len(pairs), dtype=np.float32)
        for prefix, positions in by_prefix(pairs).items():
            own = self._weighted(prefix)
            length = self._length(own)
            for at in positions:
                other = self._weighted(pairs[at][1])
                if shared := self._sum(own & other):
                    overlap[at] = shared / (length * self._length(other))
        return overlap

    def save(self, folder: Path) -> None:
        """Write the weights into a scorer's folder."""
        _save_idf(self.idf, folder / IDF)

    @classmethod
    def read(cls, folder: Path) -> SharedPieces:
        """Read the weights of a scorer's folder.

        Raises:
            EncoderError: If they are missing or damaged.
        """
        return cls(_read_idf(folder / IDF, None))

    def _weighted(self, ids: Ids) -> frozenset[int]:
        return frozenset(token for token in ids if token < len(self._squares))

    def _sum(self, tokens: Collection[int]) -> float:
        return sum(self._squares[token] for token in tokens)

    def _length(self, tokens: Collection[int]) -> float:
        return float(np.sqrt(self._sum(tokens)))


class SharingScorer:
    """A scorer of pairs plus their weighted overlap."""

    def __init__(self, scorer: PairScorer, pieces: SharedPieces, weight: float) -> None:
        self._scorer, self._pieces, self._weight = scorer, pieces, weight
        self.tokenize, self.frame, self.max_length = scorer.tokenize, scorer.frame, scorer.max_length
        self.spent = scorer.spent

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Return the score of each pair, shape (pairs,)."""
        scores: Floats = self._scorer.score(pairs) + np.float32(self._weight) * self._pieces(pairs)
        return scores


class WordSimilarity:
    """Cosine of the TF-IDF vectors of texts over hashed stems.

    >>> words = WordSimilarity.of(["ice is cold", "fire is hot"])
    >>> words.to(["cold ice", "a hot fire"])(["how cold is ice"]).round(3).tolist()
    [[1.0, 0.0]]

    Args:
        idf: Weight of each bucket of stems.
    """

    def __init__(self, idf: Floats) -> None:
        self.idf = np.asarray(idf, dtype=np.float32)

    @classmethod
    def of(cls, facts: Sequence[str]) -> WordSimilarity:
        """Weigh stems by their rarity in premises."""
        from sklearn.feature_extraction.text import TfidfTransformer

        idf = TfidfTransformer().fit(_counts(facts)).idf_
        # Rounded as in the file, so that training and use are the same.
        return cls(idf.astype(np.float16).astype(np.float32))

    def to(self, facts: Sequence[str]) -> Callable[[Sequence[str]], Floats]:
        """Return the function texts -> similarity to each premise, shape (texts, facts)."""
        own = self._vectors(facts).T.tocsr()

        def similarity(texts: Sequence[str]) -> Floats:
            values: Floats = (self._vectors(texts) @ own).toarray().astype(np.float32)
            return values

        return similarity

    def save(self, folder: Path) -> None:
        """Write the weights into a scorer's folder."""
        _save_idf(self.idf.astype(np.float16), folder / WORDS)

    @classmethod
    def read(cls, folder: Path) -> WordSimilarity:
        """Read the weights of a scorer's folder.

        Raises:
            EncoderError: If they are missing or damaged.
        """
        return cls(_read_idf(folder / WORDS, BUCKETS))

    def _vectors(self, texts: Sequence[str]) -> csr_matrix:
        """Return sparse unit vectors of texts, (texts, buckets); zeros for a text without stems."""
        from sklearn.preprocessing import normalize

        return csr_matrix(normalize(_counts(texts).multiply(self.idf)), dtype=np.float32)


def _counts(texts: Sequence[str]) -> csr_matrix:
    """Return the counts of stems by bucket, (texts, buckets)."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashed = HashingVectorizer(analyzer=stemmed_words, n_features=BUCKETS, alternate_sign=False, norm=None)
    return csr_matrix(hashed.transform(texts))
