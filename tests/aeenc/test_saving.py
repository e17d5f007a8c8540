import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import entail
from entail.aeenc.training import train_aeenc
from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder
from entail.errors import EncoderError, TrainingError
from entail.index.dense import DenseIndex
from entail.training.adapters.saving import require_destination
from entail.training.adapters.tower import Tower, TowerEncoder
from entail.training.method import Run
from tests.aeenc.conftest import Trees, small

SETTINGS = {"epochs": 2, "alpha": 0.1, "learning_rate": 0.02}


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Keep the towers of a training."""
    recorded_towers: dict[str, Any] = {}

    class Recorded(TowerEncoder):
        def __init__(self, name: str, queries: Tower, premises: Tower | None, base: BiEncoder) -> None:
            recorded_towers.update(queries=queries, premises=premises)
            super().__init__(name, queries, premises, base)

    monkeypatch.setattr("entail.aeenc.training.TowerEncoder", Recorded)
    return recorded_towers


@pytest.mark.parametrize("tuning", ["lora", "full"])
@pytest.mark.parametrize("towers", ["single", "siamese", "dual"])
def test_what_is_written_ranks_as_what_was_trained(
    home: Path, facts: Corpus, trees: Trees, in_memory: dict[str, Any], towers: Any, tuning: Any
) -> None:
    config = small(**SETTINGS, towers=towers, tuning=tuning)
    train_aeenc(facts, config, trees=trees, run=Run(out=home / "mine"))
    base = BiEncoder("tiny")
    trained = TowerEncoder("mine", **in_memory, base=base)
    expected = DenseIndex(trained, facts, trained.encode_premises(facts.texts))
    loaded = entail.load("mine")
    index = entail.retriever("mine", facts)
    queries = [text for tree in trees for text in (tree.hypothesis, tree.intermediates["int1"])]
    assert np.allclose(index.scores(queries), expected.scores(queries), atol=4e-3)
    # It moved, and by the right tower.
    assert not np.allclose(loaded.encode_queries(queries), base.encode_queries(queries), atol=1e-2)
    same = np.allclose(loaded.encode_premises(facts.texts), base.encode_premises(facts.texts), atol=1e-6)
    assert same == (towers == "single")
    assert loaded.symmetric == (towers == "siamese")
    assert (loaded.premise_revision == base.premise_revision) == (towers == "single" and tuning == "lora")


@pytest.mark.parametrize("name", ["minilm", "MiniLM", "all-MiniLM-L6-v2", "bm25", "file", "folder", "tiny"])
def test_nothing_else_is_written_over_or_hidden_by_its_name(
    home: Path, facts: Corpus, trees: Trees, name: str
) -> None:
    (home / "file").write_text("mine", encoding="utf-8")
    (home / "folder").mkdir()
    (home / "folder" / "notes.txt").write_text("mine", encoding="utf-8")
    before = sorted(home.rglob("*"))
    with pytest.raises(TrainingError):
        train_aeenc(facts, small(), trees=trees, run=Run(out=home / name))
    assert sorted(home.rglob("*")) == before  # said before anything was done
    require_destination(home.parent / name, method="aeenc")  # there it is found by its path


@pytest.mark.parametrize("when", ["weights", "move"])
def test_a_failed_save_leaves_the_old_encoder_and_another_base_is_refused(
    home: Path, facts: Corpus, trees: Trees, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    out = home / "mine"
    train_aeenc(facts, small(epochs=1), trees=trees, run=Run(out=out))
    before = (out / "adapter_model.safetensors").read_bytes()
    move = Path.replace

    def save(tower: Tower, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "adapter_model.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    def replace(path: Path, target: Path) -> Path:
        if path.name == ".mine.partial":
            raise OSError(28, "No space left on device")
        return move(path, target)

    monkeypatch.setattr(*((Tower, "save", save) if when == "weights" else (Path, "replace", replace)))
    with pytest.raises(TrainingError, match="No space left"):
        train_aeenc(facts, small(epochs=1, seed=1), trees=trees, run=Run(out=out, work=home / "elsewhere"))
    assert (out / "adapter_model.safetensors").read_bytes() == before
    assert not [path for path in home.iterdir() if path.name.startswith(".")]
    card = json.loads((out / "entail.json").read_text(encoding="utf-8"))
    (out / "entail.json").write_text(json.dumps({**card, "base": "other"}), encoding="utf-8")
    with pytest.raises(EncoderError):
        entail.load("mine")
