"""A name and a corpus give something to search, or an error that lists what there is."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.bundled import sample_corpus, sample_trees
from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder
from entail.errors import EncoderError, RetrievalError
from entail.index.dense import DenseIndex
from entail.index.factory import retriever, retriever_names

CORPUS = Corpus.of("tiny", ["ice is cold", "fire is hot"])


def test_a_given_encoder_and_cache_are_used(encoder: Any, cache_dir: Path, own_data_folder: Path) -> None:
    events: list[object] = []
    index = retriever("stub", CORPUS, encoder=encoder, cache_dir=cache_dir, progress=events.append)
    assert index.manifest.revision == "stub@1"
    assert (cache_dir / "stub@1").is_dir()
    assert not own_data_folder.exists()
    assert len(events) == 1


def test_the_sample_is_searched_by_minilm_without_loading_anything() -> None:
    index = retriever("minilm", sample_corpus())
    tree = sample_trees()[0]
    hits = index.search([tree.hypothesis, sample_corpus().texts[3]], k=3)
    assert hits.positions[1][0] == 3
    assert hits.scores[1][0] == pytest.approx(1, abs=1e-5)
    assert not index._queries.encoder.loaded  # type: ignore[attr-defined]  # a dense one


def test_the_sample_is_searched_by_another_query_tower_with_the_vectors_that_ship(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BiEncoder, "encode_premises", None)  # must not run
    corpus, query = sample_corpus(), "is a query that nobody typed before"
    index, base = retriever("aeenc-minilm", corpus), retriever("minilm", corpus)
    assert isinstance(index, DenseIndex)
    assert isinstance(base, DenseIndex)
    assert np.abs(index.scores([query]) - base.scores([query])).max() > 0.01
    # A premise that is the query is not taken for its own query vector.
    assert not np.allclose(index.encode([corpus.texts[3]]), base.encode([corpus.texts[3]]), atol=1e-2)


def test_unknown_names_list_the_known_ones() -> None:
    for name in ("word2vec", "", "TF-IDF", "word2vec+bm25"):
        with pytest.raises(RetrievalError):
            retriever(name, CORPUS)
    with pytest.raises(EncoderError):
        retriever("../minilm/x", CORPUS)


def test_weights_that_cannot_be_loaded_are_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / "models"))
    broken = tmp_path / "models" / "broken"
    broken.mkdir(parents=True)
    (broken / "config.json").write_text("{}", encoding="utf-8")
    assert retriever_names() == ["tfidf", "bm25", "minilm"]
    with pytest.raises(EncoderError):
        retriever("broken", CORPUS)
