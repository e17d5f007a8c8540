"""Encoders and indexes that all sessions share."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.data.bundled import sample_corpus
from entail.data.records import Corpus
from entail.errors import EntailError
from entail.index.flat import DenseIndex
from entail.runtime import models as models_module
from entail.runtime.models import ModelCache
from entail.runtime.tasks import CACHE

CORPUS = Corpus.of("two", ["ice is cold", "fire is hot"])


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    with CACHE.lock:
        CACHE.tasks.clear()


@pytest.mark.parametrize("error", [RuntimeError("CUDA out of memory"), MemoryError()])
def test_any_failure_is_an_error_of_the_task_and_can_be_retried(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    models = ModelCache()
    with monkeypatch.context() as broken:
        broken.setattr(models_module, "retriever", fail)
        building = models.get_or_start("tfidf", CORPUS, wait=30)
    assert building.value is None
    assert isinstance(building.error, EntailError)
    assert type(error).__name__ in str(building.error)
    assert models.get_or_start("tfidf", CORPUS, wait=30).value is not None


def test_encoders_with_one_premise_tower_share_one_index(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / "models"))
    folder = tmp_path / "models" / "tuned"
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text("{}", encoding="utf-8")
    (folder / "adapter_model.safetensors").write_bytes(b"never read")
    card = '{"base": "minilm", "towers": "single"}'
    (folder / "entail.json").write_text(card, encoding="utf-8")
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
    second = models.get_or_start("tuned", corpus, wait=0.2)
    assert not second.done.is_set()
    wait.set()
    assert first.done.wait(30)
    assert second.done.wait(30)
    assert isinstance(first.value, DenseIndex)
    assert isinstance(second.value, DenseIndex)
    assert second.value.name == "tuned"
    assert second.value._index is first.value._index


def test_a_replaced_encoder_ranks_at_once(trained: Callable[..., Path]) -> None:
    folder, models = trained("mine"), ModelCache()
    first = models.get_or_start("mine", CORPUS, wait=60)
    assert first.value is not None
    card = folder / "adapter_config.json"
    card.write_text(card.read_text("utf-8") + "\n", "utf-8")
    second = models.get_or_start("mine", CORPUS, wait=60)
    assert second.value is not None
    assert second.value.manifest.revision != first.value.manifest.revision


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
