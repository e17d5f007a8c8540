"""Factory of indexes by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from entail.data.records import Corpus
from entail.encoders.catalogue import PACKAGED_NAMES, catalogue
from entail.encoders.cross.reranker import Reranker, list_rerankers
from entail.encoders.encoder import BiEncoder, Encoder
from entail.encoders.gaussian.distributions import EncodesGaussians
from entail.encoders.gaussian.encoder import GaussianEncoder, is_gaussian
from entail.errors import RetrievalError, UnknownEncoderError
from entail.index.combined import HybridIndex, RerankedIndex
from entail.index.dense import DenseIndex, build_dense
from entail.index.gaussian import GaussianIndex, StoredGaussians
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.index.protocol import PremiseIndex
from entail.index.vectors import PremiseRows
from entail.progress import ProgressCallback
from entail.settings import load_settings

LEXICAL: Mapping[str, type[TfidfIndex] | type[Bm25Index]] = {"tfidf": TfidfIndex, "bm25": Bm25Index}
"""Retrievers that need no encoder."""

_Index = TypeVar("_Index", bound=PremiseIndex)

HYBRID = "+bm25"
"""End of a retriever's name that adds keyword match."""


def retriever_names() -> list[str]:
    """Return the names that work without network: lexical ones, then encoders of points without problems.

    >>> retriever_names()[:3]
    ['tfidf', 'bm25', 'minilm']
    """
    entries = (entry for entry in catalogue() if entry.problem is None and entry.gaussian is None)
    return [*LEXICAL, *(entry.name for entry in entries)]


def is_reserved(name: str) -> bool:
    """Return whether a name is that of a retriever without a folder, so that no folder is found by it."""
    return name.lower() in {*PACKAGED_NAMES, *LEXICAL}


def retriever(
    name: str,
    corpus: Corpus,
    *,
    encoder: Encoder | EncodesGaussians | None = None,
    existing: Iterable[PremiseIndex] = (),
    cache_dir: Path | None = None,
    cached: bool = True,
    progress: ProgressCallback | None = None,
    device: str | None = None,
) -> PremiseIndex:
    """Return the index of a corpus by name.

    Args:
        name: `tfidf`, `bm25`, `minilm`, a folder under `models/`, another folder, or a Hub id; followed by
            `+bm25`, a `HybridIndex` of both, and by `+` and the name of a re-ranker, a `RerankedIndex`. An
            encoder of Gaussians ranks by how much a premise entails the query (`GaussianIndex`).
        corpus: The premises.
        encoder: The encoder of `name`, if it is in memory already.
        existing: Indexes in memory; the premise vectors or Gaussians of one of the same corpus and encoder
            are shared.
        cache_dir: Folder of the vector cache; default: the settings' folder.
        cached: Whether premise vectors come from the cache and go into it; else all are encoded.
        progress: Receives the progress of encoding premises.
        device: Device of an encoder made here; default: `ENTAIL_DEVICE`.

    Raises:
        RetrievalError: If the name is unknown; lists the known ones.
        EncoderError: If the encoder cannot be loaded.
        CorpusError: If the corpus is empty.
    """
    endings: list[str] = []
    rerankers = {f"+{reranker}": reranker for reranker in list_rerankers()} if "+" in name else {}
    suffixes = (HYBRID, *rerankers)
    while ending := next((ending for ending in suffixes if name.endswith(ending)), None):
        name, endings = name.removesuffix(ending), [ending, *endings]
    index: PremiseIndex
    parts = [part for index in existing for part in _parts(index)]
    if name in LEXICAL:
        index = _lexical(name, corpus, parts)
    else:
        folder = (cache_dir or load_settings().vectors_dir) if cached else None
        encoder = _encoder(name, device) if encoder is None else encoder
        index = _dense(corpus, encoder, parts, folder, progress)
    for ending in endings:
        if ending in rerankers:
            index = rerank(index, corpus, Reranker(rerankers[ending], device=device))
        else:
            index = HybridIndex(index, _lexical("bm25", corpus, parts))
    return index


def rerank(index: PremiseIndex, corpus: Corpus, reranker: Reranker) -> RerankedIndex:
    """Return an index whose nearest premises a re-ranker reads again, by its own weight and depth."""
    form = reranker.form
    return RerankedIndex(index, corpus, reranker, weight=form.weight, depth=form.depth)


def _parts(index: PremiseIndex) -> Iterator[PremiseIndex]:
    """Yield an index and those that it is made of."""
    yield index
    if isinstance(index, HybridIndex | RerankedIndex):
        yield from _parts(index.first)
    if isinstance(index, HybridIndex):
        yield from _parts(index.second)


def _reuse(
    existing: Iterable[PremiseIndex],
    kind: type[_Index],
    corpus: Corpus,
    update: Callable[[_Index], _Index | None],
    *,
    revision: str | None = None,
) -> _Index | None:
    """Return the index of a corpus among those of a kind, or one that is made from another version's."""
    same = [
        index
        for index in existing
        if type(index) is kind and revision in (None, index.manifest.premise_revision)
    ]
    for index in same:
        if index.manifest.corpus_hash == corpus.hash:
            return index
    # The index that has most in common with it is one of a similar size.
    by_size = sorted(same, key=lambda index: abs(index.manifest.count - len(corpus)))
    return next(filter(None, map(update, by_size)), None)


def _lexical(name: str, corpus: Corpus, existing: Iterable[PremiseIndex]) -> PremiseIndex:
    kind = LEXICAL[name]
    return _reuse(existing, kind, corpus, lambda index: index.of_version(corpus)) or kind(corpus)


def _encoder(name: str, device: str | None) -> Encoder | EncodesGaussians:
    try:
        return GaussianEncoder(name, device=device) if is_gaussian(name) else BiEncoder(name, device=device)
    except UnknownEncoderError as error:
        raise RetrievalError(
            f"no retriever is called {name!r}; known are: {', '.join(retriever_names())}, any folder "
            "under models/ and any model on the Hugging Face Hub as organisation/model, or as model@main "
            "without organisation"
        ) from error


def _dense(
    corpus: Corpus,
    encoder: Encoder | EncodesGaussians,
    existing: Iterable[PremiseIndex],
    folder: Path | None,
    progress: ProgressCallback | None,
) -> PremiseIndex:
    if isinstance(encoder, EncodesGaussians):
        gaussians = StoredGaussians(corpus, encoder, cache_dir=folder)
        version = _reuse(
            existing,
            GaussianIndex,
            corpus,
            lambda index: index.of_version(encoder, gaussians),
            revision=encoder.revision,
        )
        if version is None:
            gaussians.rows.encode(progress=progress)
            version = GaussianIndex(encoder, corpus, gaussians)
        return version
    rows = PremiseRows(corpus, encoder, cache_dir=folder)
    index = _reuse(
        existing,
        DenseIndex,
        corpus,
        lambda index: index.of_version(encoder, rows, progress=progress),
        revision=encoder.premise_revision,
    )
    return build_dense(encoder, rows, progress=progress) if index is None else index.by(encoder)
