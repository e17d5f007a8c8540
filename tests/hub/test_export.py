"""Encoders as folders of stock modules: the same vectors, with nothing of `entail` at hand."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import entail
from entail.encoders.catalogue import resolve
from entail.errors import EncoderError
from entail.hub import export
from entail.hub.export import export_encoder
from tests.cards.test_cards import programs, run

Write = Callable[..., Path]

TEXTS = ["ba de fi", "go lu ma ne", "pi", "ro su ta ba de fi go lu"]
CLEAN = """
import json, sys
class No:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "entail":
            raise ImportError(name)
sys.meta_path.insert(0, No())
try:
    import entail
except ImportError:
    pass
else:
    sys.exit("entail is here")
from sentence_transformers import SentenceTransformer
texts = json.loads(sys.argv[1])
found = {}
for folder in sys.argv[2:]:
    model = SentenceTransformer(folder, device="cpu", trust_remote_code=False)
    found[folder] = [model.encode_query(texts).tolist(), model.encode_document(texts).tolist()]
print(json.dumps(found))
"""


def test_in_a_clean_environment_it_gives_entails_vectors(home: Path, trained: Write, tmp_path: Path) -> None:
    folders = {}
    for towers in ("single", "siamese", "dual"):
        trained(towers, towers=towers)
        folders[towers] = export_encoder(towers, tmp_path / "out" / towers).folder
    done = subprocess.run(
        [sys.executable, "-I", "-c", CLEAN, json.dumps(TEXTS), *map(str, folders.values())],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "none")},
    )
    assert done.returncode == 0, done.stderr
    vectors = json.loads(done.stdout)
    base = entail.load("tiny").encode_premises(TEXTS)
    for towers, folder in folders.items():
        encoder = entail.load(towers)
        array = np.array(vectors[str(folder)])
        queries, premises = array / np.linalg.norm(array, axis=-1, keepdims=True)
        assert np.abs(queries - encoder.encode_queries(TEXTS)).max() < 1e-5
        assert np.abs(premises - encoder.encode_premises(TEXTS)).max() < 1e-5
        # Each by its own tower: what was trained is there, and nowhere else.
        assert np.allclose(premises, base, atol=1e-5) == (towers == "single")
        assert np.allclose(premises, queries, atol=1e-5) == (towers == "siamese")
        assert (folder / "router_config.json").is_file() == (towers != "siamese")


def test_entail_itself_takes_it_as_a_whole_model(home: Path, trained: Write) -> None:
    trained(towers="dual")
    done = export_encoder("mine", home / "whole")
    assert done.difference < 1e-5
    assert done.files == export.files_of(home / "whole")
    entry = resolve("whole")
    assert (entry.base, entry.towers, entry.method) == (None, "dual", "aeenc")
    assert entry.card is not None
    assert json.loads((home / "whole" / "entail.json").read_text())["merged_from"] == resolve("mine").revision
    original, again = entail.load("mine"), entail.load("whole")
    assert np.allclose(original.encode_queries(TEXTS), again.encode_queries(TEXTS), atol=1e-5)
    assert np.allclose(original.encode_premises(TEXTS), again.encode_premises(TEXTS), atol=1e-5)
    assert export_encoder("whole", home / "twice").difference < 1e-5
    assert np.allclose(original.encode_queries(TEXTS), entail.load("twice").encode_queries(TEXTS), atol=1e-5)


@pytest.fixture
def mine(trained: Write) -> Path:
    return trained()


def test_files_and_card(mine: Path, tmp_path: Path, run_json: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    record = run_json("export", "mine", str(out))
    assert record["bytes"] == sum(record["files"].values())
    files = [path for path in out.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".safetensors", ".json", ".txt", ".md"}
    assert len({path.stat().st_mode for path in files}) == 1  # weights can be read by whoever reads the rest
    for path in out.rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert str(tmp_path) not in text
        assert str(Path.home()) not in text
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "library_name: sentence-transformers" in card
    assert "load_adapter" not in card
    monkeypatch.chdir(tmp_path)
    merged, plain = map(run, programs(card))
    assert np.allclose(merged, plain, atol=2e-3)
    run_json("export", "mine", str(out), code=1)


def test_nothing_is_kept_after_a_failure(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path, *_: Any) -> None:
        folder.mkdir(parents=True)
        raise OSError(28, "No space left on device")

    merge = export._merged
    out = tmp_path / "out"
    for name, fault in (("save_routes", full), ("_merged", lambda entry, adapter: merge(entry, None))):
        with monkeypatch.context() as failing:
            failing.setattr(export, name, fault)
            with pytest.raises(EncoderError, match=r"No space left|difference"):
                export_encoder("mine", out)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["models"]


def test_an_adapter_with_modules_of_its_own(home: Path, tmp_path: Path, write_own: Any) -> None:
    from sentence_transformers import SentenceTransformer

    model = write_own(home / "own", prompts={"query": "ba ", "document": ""}, truncate_dim=8)
    exported = SentenceTransformer(str(export_encoder("own", tmp_path / "out").folder), device="cpu")
    for name in ("encode_query", "encode_document"):
        expected = getattr(model, name)(TEXTS)
        assert expected.shape == (len(TEXTS), 8)
        assert np.allclose(getattr(exported, name)(TEXTS), expected, atol=1e-5)


def test_a_base_with_prompts_is_refused(home: Path, trained: Write, tmp_path: Path) -> None:
    shutil.copytree(home / "tiny", home / "prompted")
    file = home / "prompted" / "config_sentence_transformers.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**record, "prompts": {"query": "ba "}}), encoding="utf-8")
    trained(base="prompted", base_revision=None)
    with pytest.raises(EncoderError, match="'prompted'"):
        export_encoder("mine", tmp_path / "out")
