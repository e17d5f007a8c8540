"""Encoders and indexes that all sessions share."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.data.bundled import sample_corpus
from entail.data.records import Corpus
from entail.index.dense import DenseIndex
from entail.index.flat import VersionedIndex
from entail.memory import CACHE
from entail.runtime import models as models_module
from entail.runtime.models import INDEXES, ModelCache

CORPUS = Corpus.of("two", ["ice is cold", "fire is hot"])


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    with CACHE.lock:
        CACHE.entries.clear()


def test_encoders_with_one_premise_tower_share_one_index(monkeypatch: pytest.MonkeyPatch) -> None:
    models, corpus = ModelCache(), sample_corpus()
    begun, wait = threading.Event(), threading.Event()
    dense = DenseIndex.__init__

    def slow(*args: Any, **options: Any) -> None:
        begun.set()
        wait.wait(30)
        dense(*args, **options)

    monkeypatch.setattr(DenseIndex, "__init__", slow)
    first = models.get_or_start("minilm", corpus, wait=0)
    assert begun.wait(30)
    second = models.get_or_start("aeenc-minilm", corpus, wait=0.2)
    assert not second.done.is_set()
    wait.set()
    assert first.done.wait(30)
    assert second.done.wait(30)
    assert isinstance(first.value, DenseIndex)
    assert isinstance(second.value, DenseIndex)
    assert second.value.name == "aeenc-minilm"
    assert second.value.vectors is first.value.vectors


def test_a_replaced_encoder_ranks_at_once(trained: Callable[..., Path]) -> None:
    folder, models = trained("mine"), ModelCache()
    first = models.get_or_start("mine", CORPUS, wait=60)
    assert first.value is not None
    card = folder / "adapter_config.json"
    card.write_text(card.read_text("utf-8") + "\n", "utf-8")
    second = models.get_or_start("mine", CORPUS, wait=60)
    assert second.value is not None
    assert second.value.manifest.revision != first.value.manifest.revision


def test_the_index_of_another_version_shares_vectors_and_replaces_the_one_before(
    trained: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    trained("mine")
    models, texts = ModelCache(), [f"fact {number}" for number in range(20)]
    first = models.get_or_start("mine", Corpus.of("facts", texts), wait=60).value
    assert isinstance(first, DenseIndex)
    monkeypatch.setattr(models_module, "VERSION_SECONDS", -1)
    corpus = Corpus.of("facts", [*texts[1:], "another fact"])
    second = models.get_or_start("mine", corpus, wait=60).value
    assert isinstance(second, DenseIndex)
    assert isinstance(first.vectors, VersionedIndex)
    assert isinstance(second.vectors, VersionedIndex)
    assert second.vectors.parts[0] is first.vectors.parts[0]
    assert len(set(second.search(["another fact"], k=99).positions[0].tolist())) == 20
    assert second.manifest.corpus_hash == corpus.hash
    assert [key[2] for key in INDEXES.tasks()] == [corpus.hash]  # type: ignore[index]  # keys are tuples


def test_a_released_encoder_is_loaded_again(trained: Callable[..., Path]) -> None:
    trained("mine")
    models = ModelCache()
    first = models.get_or_start("mine", CORPUS, wait=60)
    assert first.value is not None
    models.encoder("mine").load()
    assert models.loaded("mine") is not None
    models.release("mine")
    assert models.loaded("mine") is None
    again = models.get_or_start("mine", CORPUS, wait=60)
    assert again is not first
    assert again.value is not None
    first.value.search(["ba be"], k=1)  # a search in progress goes on
