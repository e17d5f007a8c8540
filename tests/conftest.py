"""Fixtures of all tests."""

import importlib.util
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings

# Tests fork; the handlers of gRPC, part of the client of Milvus, may end a child by a segmentation fault.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# The same examples on every machine, and no example fails for being slow on a busy one.
settings.register_profile(
    "entail", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("entail")

pytest_plugins = ("tests.support.databases", "tests.support.stores")

SYLLABLES = [a + b for a in "bdfglmnprst" for b in "aeiou"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the golden files again")


@pytest.fixture(autouse=True)
def closed_databases() -> Iterator[None]:
    """Close the databases that a test leaves open."""
    engines: set[sa.Engine] = set()

    def note(connection: sa.Connection) -> None:
        engines.add(connection.engine)

    sa.event.listen(sa.Engine, "engine_connect", note)
    yield
    sa.event.remove(sa.Engine, "engine_connect", note)
    for engine in engines:
        engine.dispose()


def tiny_bert(
    folder: Path,
    *,
    words: Sequence[str] = SYLLABLES,
    dimension: int = 16,
    seed: int = 0,
    scale: float = 5.0,
    dense: int | None = None,
    options: Mapping[str, Any] | None = None,
    **sizes: Any,
) -> Path:
    """Write a random BERT of one layer that knows some words, as sentence-transformers saves it."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast
    from transformers.utils import logging

    plain = folder.with_name(f".{folder.name}-plain")
    plain.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (plain / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    logging.disable_progress_bar()
    try:
        BertTokenizerFast(vocab=str(plain / "vocab.txt")).save_pretrained(plain)
        torch.manual_seed(seed)
        config = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 2 * dimension}
        config |= {"max_position_embeddings": 32, "initializer_range": 0.1, **sizes}
        bert = BertModel(BertConfig(vocab_size=len(vocabulary), hidden_size=dimension, **config))
        with torch.no_grad():
            # So that sentences of other words point elsewhere, as a trained encoder has them.
            bert.embeddings.word_embeddings.weight.mul_(scale)
        bert.save_pretrained(plain)
        modules: list[Any] = [Transformer(str(plain)), Pooling(dimension, "mean")]
        modules += [] if dense is None else [Dense(dimension, dense)]
        model = SentenceTransformer(modules=modules, device="cpu", **(options or {}))
        model.save_pretrained(str(folder), create_model_card=False)
    finally:
        logging.enable_progress_bar()
    return folder


@pytest.fixture(scope="session")
def write_bert() -> Callable[..., Path]:
    """Return what writes a base such as `tiny`, of any size, into a folder."""
    return tiny_bert


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with two bases to train on, `tiny` and `other`; change nothing in it."""
    folder = tmp_path_factory.mktemp("models")
    tiny_bert(folder / "tiny")
    tiny_bert(folder / "other", seed=1)
    return folder


@pytest.fixture
def tiny_home(tiny_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation with the bases `tiny` and `other` alone; returns its `models/`."""
    models = tmp_path / "models"
    models.mkdir()
    for base in ("tiny", "other"):
        (models / base).symlink_to(tiny_models / base, target_is_directory=True)
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(models))
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ENTAIL_DEVICE", "cpu")
    return models


_CONFIG = {"base": "tiny", "loss": "triplet", "margin": 0.1, "rank": 2, "gold": True, "initial": ""}


@pytest.fixture
def trained(tiny_home: Path) -> Callable[..., Path]:
    """Return what writes an adapter on `tiny`, as a training does, into `models/`."""

    def write(name: str = "mine", *, towers: str = "single", **fields: Any) -> Path:
        import torch

        from entail.encoders.card import PREMISE_TOWER
        from entail.encoders.catalogue import resolve
        from entail.encoders.weights import adapter_digest
        from entail.training.adapters.tower import Lora, Tower

        folder, base = tiny_home / name, resolve("tiny")
        for seed, part in enumerate([folder, *([folder / PREMISE_TOWER] if towers == "dual" else [])]):
            tower = Tower(base, lora=Lora(rank=2), device="cpu")
            generator = torch.Generator().manual_seed(seed)
            with torch.no_grad():
                for parameter in tower.parameters.values():
                    parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
            tower.save(part)
        about = {
            "method": "aeenc",
            "base": "tiny",
            "base_revision": base.revision,
            "adapter_digest": adapter_digest(folder),
            "towers": towers,
            "config": _CONFIG,
            "trained_on": {"queries": 16, "positives": 24, "negatives": 1200, "data": ["entailment_bank"]},
            **fields,
        }
        (folder / "entail.json").write_text(json.dumps(about), encoding="utf-8")
        return folder

    return write


@pytest.fixture
def run_json(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return what runs ``entail ... --json`` in this process, and returns what it prints."""
    from entail.cli import main

    def run(*arguments: str, code: int = 0) -> Any:
        capsys.readouterr()
        assert main([*arguments, "--json"]) == code
        out, err = capsys.readouterr()
        if code == 0:
            assert err == ""
        assert "Traceback" not in err
        assert "unexpected" not in err
        return json.loads(out)

    return run


def script(name: str) -> ModuleType:
    """Import a program of `scripts/` by its name."""
    file = Path(__file__).parent.parent / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where its dataclasses look for their annotations
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def load_script() -> Callable[[str], ModuleType]:
    """Return `script`."""
    return script


@pytest.fixture
def gaussian(tiny_home: Path) -> str:
    """An encoder of Gaussians under `models/`, its head never trained but for variances that differ."""
    import torch

    from entail.encoders.catalogue import resolve
    from entail.encoders.gaussian.form import Calibration, GaussianForm
    from entail.gausscse.tower import GaussianTower
    from entail.training.adapters.tower import Lora

    base = resolve("tiny")
    tower = GaussianTower(base, lora=Lora(rank=2), device="cpu")
    with torch.no_grad():
        tower.head.linear.weight.add_(torch.randn(32, 16, generator=torch.Generator().manual_seed(0)) * 0.1)
        for name, parameter in tower.parameters.items():
            if "lora_B" in name:  # an adapter without effect is warned of
                parameter.fill_(1e-6)
    tower.save(tiny_home / "mine")
    form = GaussianForm(threshold=0.5, direction=Calibration(slope=2.0, intercept=0.0))
    about = {
        "method": "gausscse",
        "base": "tiny",
        "base_revision": base.revision,
        "gaussian": form.to_json(),
    }
    (tiny_home / "mine" / "entail.json").write_text(json.dumps(about), encoding="utf-8")
    return "mine"


@pytest.fixture
def scorer_folder(tiny_home: Path) -> Callable[..., Path]:
    """Return what writes a folder that looks like a scorer of facts from outside; it cannot be loaded.

    Its card has the MAP of chains on each of some data.
    """

    def write(
        name: str,
        *,
        base: str = "tiny",
        chains: Mapping[str, float] | None = None,
        **figures: Any,
    ) -> Path:
        measured = [
            {"task": "chains", "measure": "MAP", "data": data, "value": value}
            for data, value in (chains or {}).items()
        ]
        folder = tiny_home / name
        (folder / "adapter").mkdir(parents=True)
        (folder / "head.safetensors").write_bytes(name.encode())
        (folder / "adapter" / "adapter_model.safetensors").write_bytes(b"a" + name.encode())
        about = {"method": "arcf", "base": base, "scorer": {"max_length": 32}, "figures": figures}
        about["measured"] = measured
        (folder / "entail.json").write_text(json.dumps(about), encoding="utf-8")
        return folder

    return write


@pytest.fixture
def write_reranker(tiny_home: Path) -> Callable[..., Path]:
    """Return what writes a re-ranker of random weights on `tiny` into `models/`."""

    def write(name: str = "reader", *, seed: int = 0, **form: Any) -> Path:
        import torch

        from entail.encoders.catalogue import resolve
        from entail.encoders.weights import adapter_digest
        from entail.training.adapters.tower import CrossTower, Lora

        base, folder = resolve("tiny"), tiny_home / name
        tower = CrossTower(base, max_length=32, lora=Lora(rank=2), device="cpu", seed=seed)
        draw = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in tower.parameters.values():
                parameter.copy_(torch.randn(parameter.shape, generator=draw) * 0.3)
        tower.save(folder)
        settings = {"max_length": 32, "weight": 1.0, "depth": 4, **form}
        about = {"method": "reranker", "base": "tiny", "base_revision": base.revision, "reranker": settings}
        about["adapter_digest"] = adapter_digest(folder)
        (folder / "entail.json").write_text(json.dumps(about), encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def grove() -> dict[str, Any]:
    """Eight trees and the 40 sentences of their corpus, as rows of official JSONL (task 2) and as texts."""
    draw = np.random.default_rng(0)

    def sentence() -> str:
        return " ".join(draw.choice(SYLLABLES, size=int(draw.integers(4, 8))))

    rows, facts = [], []
    for number in range(8):
        leaves, conclusion, distractor = [sentence() for _ in range(3)], sentence(), sentence()
        sentences = {f"sent{i}": text for i, text in enumerate([*leaves, distractor], start=1)}
        rows.append(
            {
                "id": f"T{number}",
                "context": " ".join(f"{name}: {text}" for name, text in sentences.items()),
                "question": "",
                "answer": "",
                "hypothesis": sentence(),
                "proof": f"sent1 & sent2 -> int1: {conclusion}; int1 & sent3 -> hypothesis; ",
                "meta": {
                    "triples": sentences,
                    "intermediate_conclusions": {"int1": conclusion},
                    "distractors": ["sent4"],
                },
            }
        )
        facts.extend([*leaves, conclusion, distractor])
    return {"rows": rows, "facts": facts}


@pytest.fixture
def grove_files(grove: dict[str, Any], tmp_path: Path) -> tuple[Path, Path]:
    """The grove as files: `facts.txt` and `trees.jsonl`."""
    facts, trees = tmp_path / "facts.txt", tmp_path / "trees.jsonl"
    facts.write_text("\n".join(grove["facts"]), encoding="utf-8")
    trees.write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    return facts, trees


@pytest.fixture
def serve_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[ThreadingHTTPServer], None]]:
    """Return what serves a stand-in for the Hub, at which the Hub's client then looks, without a token."""
    from huggingface_hub import constants

    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def serve(server: ThreadingHTTPServer) -> None:
        address = f"http://127.0.0.1:{server.server_port}"
        for name, value in {
            "ENDPOINT": address,
            "HUGGINGFACE_CO_URL_TEMPLATE": f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
            "HF_HUB_CACHE": str(tmp_path / "hub"),
            "HF_TOKEN_PATH": str(tmp_path / "token"),
            "HF_STORED_TOKENS_PATH": str(tmp_path / "tokens"),
            "HF_HUB_DISABLE_XET": False,  # turned on by the code itself
            "HF_HUB_DISABLE_TELEMETRY": True,
        }.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        running.append((server, thread))

    yield serve
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()
