"""A name and a corpus give something to search, or an error that lists what there is."""

from pathlib import Path
from typing import Any

import pytest

from entail.data.bundled import sample_corpus, sample_trees
from entail.data.records import Corpus
from entail.errors import EncoderError, RetrievalError
from entail.index.factory import retriever, retriever_names

CORPUS = Corpus.of("tiny", ["ice is cold", "fire is hot"])


@pytest.fixture(autouse=True)
def _installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / "models"))
    (tmp_path / "models").mkdir()


def test_a_given_encoder_and_cache_are_used(encoder: Any, cache_dir: Path, tmp_path: Path) -> None:
    events: list[object] = []
    index = retriever("stub", CORPUS, encoder=encoder, cache_dir=cache_dir, progress=events.append)
    assert index.manifest.revision == "stub@1"
    assert (cache_dir / "stub@1").is_dir()
    assert not (tmp_path / "data").exists()
    assert len(events) == 1


def test_the_sample_is_searched_by_minilm_without_loading_anything() -> None:
    index = retriever("minilm", sample_corpus())
    tree = sample_trees()[0]
    hits = index.search([tree.hypothesis, sample_corpus().texts[3]], k=3)
    assert hits.positions[1][0] == 3
    assert hits.scores[1][0] == pytest.approx(1, abs=1e-5)
    assert not index._queries.encoder.loaded  # type: ignore[attr-defined]  # a dense one


def test_unknown_names_list_the_known_ones() -> None:
    for name in ("word2vec", "", "TF-IDF", "word2vec+bm25"):
        with pytest.raises(RetrievalError):
            retriever(name, CORPUS)
    with pytest.raises(EncoderError):
        retriever("../minilm/x", CORPUS)


def test_weights_that_cannot_be_loaded_are_not_offered(tmp_path: Path) -> None:
    broken = tmp_path / "models" / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{}", encoding="utf-8")
    assert retriever_names() == ["tfidf", "bm25", "minilm"]
    with pytest.raises(EncoderError):
        retriever("broken", CORPUS)
