"""The shelf of indexes: what is built, shared, and said when it cannot be."""

import pytest

from entail.data.records import Corpus
from entail.errors import EntailError
from entail.index import retriever as retriever_module
from entail.ui.resources import Shelf

CORPUS = Corpus.of("two", ["ice is cold", "fire is hot"])


def test_all_share_one_index() -> None:
    shelf = Shelf()
    one, other = (shelf.take("tfidf", CORPUS, wait=30) for _ in range(2))
    assert one.index is not None
    assert one is other


def test_the_one_used_least_recently_goes_first() -> None:
    shelf = Shelf(capacity=2)
    first = shelf.take("tfidf", CORPUS, wait=30)
    second = shelf.take("bm25", CORPUS, wait=30)
    assert shelf.take("tfidf", CORPUS) is first
    shelf.take("tfidf", Corpus.of("one", ["snow is ice"]), wait=30)
    assert shelf.take("tfidf", CORPUS) is first
    assert shelf.take("bm25", CORPUS, wait=30) is not second


@pytest.mark.parametrize("error", [RuntimeError("CUDA out of memory"), MemoryError(), OSError("disk full")])
def test_whatever_goes_wrong_is_told_and_can_be_tried_again(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    shelf = Shelf()
    with monkeypatch.context() as broken:
        broken.setattr(retriever_module, "retriever", fail)
        building = shelf.take("tfidf", CORPUS, wait=30)
    assert building.index is None
    assert isinstance(building.error, EntailError)
    assert type(error).__name__ in str(building.error)
    assert shelf.take("tfidf", CORPUS, wait=30).index is not None
