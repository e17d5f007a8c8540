"""An adapter on the query tower alone: the index is the base's, nothing is encoded again, ranks are new."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.bundled import sample_corpus
from entail.data.records import Corpus
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import BiEncoder
from entail.index.dense import DenseIndex
from entail.index.factory import retriever
from entail.index.vectors import slug

QUERY = "is a query that nobody typed before"


@pytest.fixture
def encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The premises that any encoder was asked for."""
    texts: list[str] = []
    encode = BiEncoder.encode_premises

    def spy(self: BiEncoder, premises: Sequence[str], **options: Any) -> Any:
        texts.extend(premises)
        return encode(self, premises, **options)

    monkeypatch.setattr(BiEncoder, "encode_premises", spy)
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ENTAIL_DEVICE", "cpu")
    return texts


def test_the_bundled_sample_is_searched_with_the_vectors_that_ship(encoded: list[str]) -> None:
    corpus = sample_corpus()
    index, base = retriever("aeenc-minilm", corpus), retriever("minilm", corpus)
    assert isinstance(index, DenseIndex)
    assert isinstance(base, DenseIndex)
    assert np.abs(index.scores([QUERY]) - base.scores([QUERY])).max() > 0.01
    assert encoded == []
    # A premise that is the query is not taken for its own query vector.
    assert not np.allclose(index.encode([corpus.texts[3]]), base.encode([corpus.texts[3]]), atol=1e-2)


def test_base_and_query_tower_share_cached_vectors(encoded: list[str], tmp_path: Path) -> None:
    corpus = Corpus.of("own", ["my own fact", "another fact of mine"])
    first, second = (retriever(name, corpus) for name in ("minilm", "aeenc-minilm"))
    second.search([QUERY], k=1)
    assert encoded == list(corpus.texts)
    np.testing.assert_array_equal(first.vectors.read(np.arange(2)), second.vectors.read(np.arange(2)))
    folders = [folder.name for folder in (tmp_path / "data" / "vectors").iterdir()]
    assert folders == [slug(resolve("minilm").revision or "")]
