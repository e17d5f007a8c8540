r"""How like a question a fact is by its words, as a term of its score.

.. math::
    \sigma(q, f) = \cos(x_q, x_f), \quad
    x_t = \mathrm{tf}_t \, (1 + \ln \frac{1 + n}{1 + \mathrm{df}_t})

over the stems t of question and answer, and of the fact; stop words count for nothing. Shared word pieces
(`entail.arcf.shared_pieces`) look at the whole prefix, so what a question's own words say is thinned out by
every fact that is chosen. Here they count the same at every step.

Stems are counted in buckets by a hash, and the document frequencies of the n facts that were learnt from are
kept: sixty candidates are weighed as all facts are. A stem that none of them has weighs most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from entail.encoders.tensors import open_tensors
from entail.index.protocol import Floats
from entail.index.stemmed import stemmed_words

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
