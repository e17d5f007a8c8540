"""A name and a corpus to something that can be searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from entail.data.records import Corpus
from entail.encoders.catalogue import catalogue
from entail.encoders.encoder import BiEncoder, Encoder
from entail.encoders.gaussian.distributions import EncodesGaussians
from entail.encoders.gaussian.encoder import GaussianEncoder, is_gaussian
from entail.errors import RetrievalError, UnknownEncoderError
from entail.index.flat import DenseIndex
from entail.index.gaussian import GaussianIndex, premise_gaussians
from entail.index.hybrid import BM25_WEIGHT, HybridIndex
from entail.index.lexical import Bm25Index, NgramIndex, TfidfIndex
from entail.index.protocol import PremiseIndex
from entail.index.queries import QueryVectors
from entail.index.vectors import premise_vectors
from entail.progress import ProgressCallback
from entail.settings import load_settings

LEXICAL: Mapping[str, type[TfidfIndex | Bm25Index]] = {
    "tfidf": TfidfIndex,
    "bm25": Bm25Index,
    "ngrams": NgramIndex,
}
"""Retrievers that need no encoder."""

_HYBRIDS: Mapping[str, Callable[[PremiseIndex, Corpus], HybridIndex]] = {
    "+ngrams": lambda first, corpus: HybridIndex(first, NgramIndex(corpus)),
    "+bm25": lambda first, corpus: HybridIndex(first, Bm25Index(corpus), weight=BM25_WEIGHT, relative=True),
}


def retriever_names() -> list[str]:
    """Return the names that work without network: lexical ones, then encoders of points that can be loaded.

    >>> retriever_names()[:4]
    ['tfidf', 'bm25', 'ngrams', 'minilm']
    """
    entries = (entry for entry in catalogue() if entry.problem is None and entry.gaussian is None)
    return [*LEXICAL, *(entry.name for entry in entries)]


def retriever(
    name: str,
    corpus: Corpus,
    *,
    encoder: Encoder | EncodesGaussians | None = None,
    queries: QueryVectors | None = None,
    beside: Iterable[PremiseIndex] = (),
    cache_dir: Path | None = None,
    progress: ProgressCallback | None = None,
    device: str | None = None,
) -> PremiseIndex:
    """Make the index of a corpus that a name asks for.

    Args:
        name: `tfidf`, `bm25`, `ngrams`, `minilm`, a folder under `models/`, another folder, or a Hub id; with
            `+ngrams` or `+bm25` behind it, a `HybridIndex` of both. An encoder of Gaussians ranks by how much
            a premise entails the query (`GaussianIndex`).
        corpus: The premises.
        encoder: The encoder behind `name`, where there is one in memory already; a name of a lexical
            retriever needs none.
        queries: Query vectors to share with other indexes of the encoder.
        beside: Indexes in memory already: one of this corpus whose premise vectors, or Gaussians, are the
            encoder's is shared, and nothing is read or encoded.
        cache_dir: Where premise vectors are cached; default: the settings' folder.
        progress: Told how far the encoding of premises is.
        device: For an encoder made here; default: `ENTAIL_DEVICE`.

    Raises:
        RetrievalError: If nothing has this name; lists what is known.
        EncoderError: If the encoder cannot be loaded.
        CorpusError: If the corpus is empty.
        ManifestMismatchError: If cached vectors belong to something else.
    """
    if name in LEXICAL:
        return LEXICAL[name](corpus)
    for ending, hybrid in _HYBRIDS.items():
        if not name.endswith(ending):
            continue
        first = retriever(
            name.removesuffix(ending),
            corpus,
            encoder=encoder,
            queries=queries,
            beside=beside,
            cache_dir=cache_dir,
            progress=progress,
            device=device,
        )
        return hybrid(first, corpus)
    folder = load_settings().vectors_dir if cache_dir is None else cache_dir
    if encoder is None and is_gaussian(name):
        encoder = GaussianEncoder(name, device=device)
    if isinstance(encoder, EncodesGaussians):
        for other in beside:
            held = other.manifest
            same = (held.corpus_hash, held.revision) == (corpus.hash, encoder.revision)
            if isinstance(other, GaussianIndex) and same:
                return other
        gaussians = premise_gaussians(corpus, encoder, cache_dir=folder, progress=progress)
        return GaussianIndex(encoder, corpus, gaussians, queries=queries)
    if encoder is None:
        try:
            encoder = BiEncoder(name, device=device)
        except UnknownEncoderError as error:
            raise RetrievalError(
                f"no retriever is called {name!r}; known are: {', '.join(retriever_names())}, any folder "
                "under models/ and any model on the Hugging Face Hub as organisation/model"
            ) from error
    for other in beside:
        held = other.manifest
        same = (held.corpus_hash, held.premise_revision) == (corpus.hash, encoder.premise_revision)
        if isinstance(other, DenseIndex) and same:
            return other.by(encoder, queries=queries)
    vectors = premise_vectors(corpus, encoder, cache_dir=folder, progress=progress)
    return DenseIndex(encoder, corpus, vectors, queries=queries)
