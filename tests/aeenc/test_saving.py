import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import entail
from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.data.records import Corpus, ExplanationTree
from entail.encoders.encoder import BiEncoder
from entail.errors import EncoderError, TrainingError
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.flat import DenseIndex
from entail.training.adapters.saving import require_destination
from entail.training.adapters.tower import Tower, TowerEncoder
from entail.training.method import Run

Trees = tuple[ExplanationTree, ...]

SETTINGS = AeencConfig(
    base="tiny",
    rank=4,
    epochs=2,
    gold=True,
    live_k=0,
    reduction="mean",
    alpha=0.1,
    batch_size=8,
    k=8,
    margin=0.3,
    learning_rate=0.02,
    precision="fp32",
)


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
    config = replace(SETTINGS, towers=towers, tuning=tuning)
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


@pytest.mark.parametrize("tuning", ["lora", "full"])
def test_a_base_by_dot_product_is_trained_by_cosine(
    home: Path, write_bert: Callable[..., Path], facts: Corpus, trees: Trees, tuning: Any
) -> None:
    write_bert(home / "dotted", options={"similarity_fn_name": "dot"})
    config = replace(SETTINGS, base="dotted", tuning=tuning)
    done = train_aeenc(facts, config, trees=trees, dev=trees, run=Run(out=home / "mine"))
    assert done.fitted.best is not None
    measured = evaluate_premises(facts, trees, entail.retriever("mine", facts))
    assert done.fitted.best.score == pytest.approx(measured.figures()["query_excluded"]["MAP"], abs=1e-3)


def test_on_another_base_it_is_refused(home: Path, facts: Corpus, trees: Trees) -> None:
    train_aeenc(facts, SETTINGS, trees=trees, run=Run(out=home / "mine"))
    card = json.loads((home / "mine" / "entail.json").read_text(encoding="utf-8"))
    (home / "mine" / "entail.json").write_text(json.dumps({**card, "base": "other"}), encoding="utf-8")
    with pytest.raises(EncoderError, match=r"expected its base to be tiny@\w+.*found other@"):
        entail.load("mine")


@pytest.mark.parametrize("what", ["notes", "model", "file"])
def test_nothing_else_is_written_over(
    home: Path, tiny_models: Path, facts: Corpus, trees: Trees, what: str
) -> None:
    out = home / "mine"
    if what == "file":
        out.write_text("mine", encoding="utf-8")
    elif what == "notes":
        out.mkdir()
        (out / "notes.txt").write_text("mine", encoding="utf-8")
    else:
        out.symlink_to(tiny_models / "tiny", target_is_directory=True)
    with pytest.raises(TrainingError, match="found something else in 'mine'"):
        train_aeenc(facts, SETTINGS, trees=trees, run=Run(out=out))
    assert not (home / "mine.training").exists()  # said before anything was done


@pytest.mark.parametrize("name", ["minilm", "MiniLM", "all-MiniLM-L6-v2", "bm25"])
def test_a_name_that_leads_elsewhere_is_refused(home: Path, facts: Corpus, trees: Trees, name: str) -> None:
    with pytest.raises(TrainingError):
        train_aeenc(facts, SETTINGS, trees=trees, run=Run(out=home / name))
    assert [file.name for file in home.iterdir() if file.name.startswith(name)] == []
    require_destination(home.parent / name, method="aeenc")  # there it is found by its path


@pytest.mark.parametrize("when", ["weights", "move"])
def test_a_failed_save_leaves_the_old_encoder(
    home: Path, facts: Corpus, trees: Trees, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    out = home / "mine"
    train_aeenc(facts, SETTINGS, trees=trees, run=Run(out=out))
    before = (out / "adapter_model.safetensors").read_bytes()
    move = Path.replace

    def save(tower: Tower, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "adapter_model.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    def replace_(path: Path, target: Path) -> Path:
        if path.name == ".mine.partial":
            raise OSError(28, "No space left on device")
        return move(path, target)

    if when == "weights":
        monkeypatch.setattr(Tower, "save", save)
    else:
        monkeypatch.setattr(Path, "replace", replace_)
    with pytest.raises(TrainingError, match="No space left"):
        train_aeenc(facts, replace(SETTINGS, seed=1), trees=trees, run=Run(out=out, work=home / "elsewhere"))
    assert (out / "adapter_model.safetensors").read_bytes() == before
    assert not [path for path in home.iterdir() if path.name.startswith(".")]
