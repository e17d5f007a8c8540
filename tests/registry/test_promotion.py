"""Promotion and rollback of retrievers, per corpus and for all."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from entail.encoders.catalogue import EncoderEntry, resolve
from entail.errors import DatabaseError, EncoderError, PromotionError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.registry import pointers
from entail.registry.models import Active, active, promote, roll_back
from entail.registry.pointers import current_pointer, history, list_moves, list_pointers
from entail.settings import _read_settings
from entail.statistics.paired import PairedDifference
from entail.trees.store.state import add_moves, open_state
from tests.trees.conftest import at_once

PACKAGED = "minilm"


def make(folder: Path, seed: int) -> Path:
    folder.mkdir(exist_ok=True)
    weights = np.random.default_rng(seed).normal(size=4).astype(np.float32)
    save_file({"weights": weights}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"hidden_size": 4}', encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / "models"))
    (tmp_path / "models").mkdir()
    for seed, name in enumerate(("one", "two", "three")):
        make(tmp_path / "models" / name, seed)
    return tmp_path / "models"


def put(name: str, corpus: str | None = None) -> Any:
    return promote(name, by="Ann", corpus=corpus, anyway=True)


def compared(candidate: str, now: Active, *, low: float, high: float) -> PairedComparison:
    difference = PairedDifference(0.5, 0.5 + (low + high) / 2, low, high, 0.01, 6, 4, 10)
    return PairedComparison(
        str(resolve(candidate).revision), now.revision, "dev", "0" * 12, "MAP", {"MAP": difference}
    )


def test_corpus_follows_the_default_without_its_own_pointer() -> None:
    assert (active("sky").encoder, active().number, history(), list_pointers()) == (PACKAGED, 0, (), ())
    pointer = put("one")
    assert active().revision == active().premise_revision == pointer.revision
    assert (pointer.number, pointer.by, pointer.corpus) == (1, "Ann", None)
    put("two", "sky")
    put("three")
    assert [active(name).encoder for name in (None, "sky", "sea")] == ["three", "two", "three"]
    assert [(p.corpus, p.encoder) for p in list_pointers()] == [(None, "three"), ("sky", "two")]
    assert json.loads(json.dumps(active("sky").to_json()))["pointer"]["corpus"] == "sky"
    roll_back("sky", by="Bob")
    assert active("sky").encoder == "three"


def test_the_default_retriever_ranks_every_corpus_until_one_is_promoted(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert active().encoder == PACKAGED, "the default is not installed here"
    monkeypatch.setattr("entail.registry.models.SHIPPED", "one")
    assert [(now.encoder, now.pointer) for now in (active(), active("sky"))] == [("one", None)] * 2
    put("two")
    assert active("sky").encoder == "two"
    roll_back(by="Bob")
    assert active("sky").encoder == "one"


def test_roll_back_repeatedly() -> None:
    for name in ("one", "two", "three"):
        put(name)
    assert roll_back(by="Bob").encoder == "two"
    assert roll_back(by="Bob").encoder == "one"
    put("three")
    assert roll_back(by="Bob").encoder == "one"
    assert roll_back(by="Bob").encoder is None
    assert active().encoder == PACKAGED
    with pytest.raises(PromotionError, match="found none"):
        roll_back(by="Bob")
    moves = history()
    assert [move.number for move in moves] == list(range(8, 0, -1))
    assert [move.rolled_back for move in moves] == [7, 6, None, 4, 3, None, None, None]
    assert {move.by for move in moves if move.rolled_back} == {"Bob"}


def test_concurrent_promotions_all_count() -> None:
    at_once(put, ("one", "two", "three") * 3)
    moves = history()
    assert [move.number for move in moves] == list(range(9, 0, -1))
    assert [move.previous for move in moves] == list(range(8, -1, -1))


def test_promotion_needs_a_comparison_with_the_active_encoder() -> None:
    with pytest.raises(PromotionError, match="found none"):
        promote("one", by="Ann")
    worse = compared("one", active(), low=-0.3, high=-0.1)
    with pytest.raises(PromotionError, match="worse"):
        promote("one", by="Ann", evaluation=worse)
    with pytest.raises(PromotionError, match="trained on 10"):
        promote("one", by="Ann", evaluation=replace(compared("one", active(), low=0.1, high=0.3), seen=10))
    assert active().encoder == PACKAGED
    outdated = compared("two", active(), low=-0.1, high=0.2)
    assert promote("one", by="Ann", evaluation=worse, anyway=True).evaluation == worse.to_json()
    for other in (outdated, compared("three", active(), low=0, high=1)):
        with pytest.raises(PromotionError, match="found one of other weights"):
            promote("two", by="Ann", evaluation=other)
    promote("two", by="Ann", evaluation=compared("two", active(), low=-0.1, high=0.2))
    stored = history()[0].evaluation
    assert stored is not None
    assert PairedComparison.from_json(stored).verdict == "not different"


def test_roll_back_to_a_changed_or_missing_encoder_fails(models: Path) -> None:
    put("one")
    put("two")
    make(models / "one", 77)
    with pytest.raises(PromotionError, match="changed since"):
        roll_back(by="Bob")
    for file in (models / "one").iterdir():
        file.unlink()
    (models / "one").rmdir()
    with pytest.raises(PromotionError, match="not available any more"):
        roll_back(by="Bob")
    assert active().encoder == "two"
    make(models / "two", 78)
    with pytest.raises(PromotionError, match="as promoted"):
        active().check()


def test_a_folder_that_no_name_finds_is_not_promoted(models: Path, tmp_path: Path) -> None:
    elsewhere = make(tmp_path / "elsewhere", 5)
    (tmp_path / "other").mkdir()
    namesake = make(tmp_path / "other" / "one", 6)
    for folder in (elsewhere, namesake):
        with pytest.raises(EncoderError, match="copy it there"):
            put(str(folder))
    assert active().encoder == PACKAGED
    assert put(str(models / "one")).encoder == "one"
    active().check()


def test_a_promoted_model_that_ships_is_that_of_the_installed_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "shipped"
    monkeypatch.delenv("ENTAIL_MODELS_DIR")
    monkeypatch.setattr("entail.settings.shipped_models", lambda: shipped)
    _read_settings.cache_clear()  # the folder that ships is no variable
    for folder in (shipped, tmp_path / "data" / "models"):
        folder.mkdir(parents=True)
    make(shipped / "debiased", 1)
    before = put("debiased", "grove").revision
    put("minilm", "grove")
    make(shipped / "debiased", 2)  # an update of the package
    roll_back("grove", by="Bob")
    now = active("grove")
    now.check()
    assert now.encoder == "debiased"
    assert now.revision == resolve("debiased").revision != before
    # One of the user's under the same name takes its place: that was never promoted.
    make(tmp_path / "data" / "models" / "debiased", 3)
    with pytest.raises(PromotionError, match="as promoted"):
        active("grove").check()


def test_failed_write_leaves_the_pointers(monkeypatch: pytest.MonkeyPatch) -> None:
    put("one")

    def full(*arguments: object) -> None:
        raise DatabaseError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("entail.registry.pointers.add_moves", full)
        with pytest.raises(PromotionError, match="the disk is full"):
            put("two")
    assert (active().encoder, len(list_moves())) == ("one", 1)


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 9, "moves": []}', '{"format": 1, "moves": [{}]}'])
def test_damaged_file(tmp_path: Path, content: str) -> None:
    put("one")
    (tmp_path / "data" / "active.json").write_text(content, encoding="utf-8")
    with pytest.raises(PromotionError, match="backup"):
        active()


def test_outdated_decision_is_refused() -> None:
    put("one")
    number = active().number
    put("two")
    with pytest.raises(PromotionError, match="meanwhile"):
        promote("three", by="Bob", anyway=True, number=number)
    with pytest.raises(PromotionError, match="meanwhile"):
        roll_back(by="Bob", number=number)
    assert active().encoder == "two"
    assert roll_back(by="Bob", number=active().number).encoder == "one"
    put("one", "sky")
    assert promote("three", by="Bob", corpus="sea", anyway=True, number=active("sea").number).corpus == "sea"


def test_hub_id_is_pinned_to_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(entry: EncoderEntry) -> EncoderEntry:
        return replace(entry, revision=f"{entry.name.partition('@')[0]}@abc")

    monkeypatch.setattr("entail.registry.models.fetch", fetched)
    pointer = put("org/model")
    assert (pointer.encoder, pointer.revision) == ("org/model@abc", "org/model@abc")
    put("one")
    monkeypatch.setattr("entail.registry.models.fetch", None)  # a rollback never asks the network
    roll_back(by="Bob")
    active().check()
    assert active().encoder == "org/model@abc"


def test_another_process_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    put("one")
    assert active().encoder == "one"
    monkeypatch.setattr(pointers, "FRESH", 0.0)
    content = json.dumps(replace(history()[0], number=2, encoder="two").to_json())
    with open_state().writing() as connection:
        add_moves(connection, {2: content})
    assert active().encoder == "two"


def test_file_of_version_0_1(tmp_path: Path) -> None:
    earlier = Path(__file__).parents[1] / "fixtures" / "installation" / "active.json"
    file = tmp_path / "data" / "active.json"
    file.parent.mkdir()
    file.write_bytes(earlier.read_bytes())
    assert [active(name).encoder for name in (None, "sky", "sea")] == ["two", "three", "two"]
    assert current_pointer("sea") is None
    directions, chains = current_pointer(role="direction"), current_pointer(role="chains")
    assert directions is not None
    assert chains is not None
    assert (directions.encoder, chains.encoder) == ("gauss", "scorer")
    assert [move.number for move in history("sea")] == [9, 8]
    assert roll_back(by="Bob").encoder == "one"
    moves = [move.to_json() for move in reversed(list_moves())]
    assert moves[:-1] == json.loads(earlier.read_text(encoding="utf-8"))["moves"]
    # It was read once, and is still there under another name.
    assert not file.exists()
    assert file.with_name("active.imported.json").read_bytes() == earlier.read_bytes()
