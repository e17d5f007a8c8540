"""Encoders by their Hub id, fetched from the stand-in."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.arcf.scoring.scorer import list_scorers
from entail.encoders.catalogue import fetch, resolve
from entail.encoders.cross.reranker import Reranker, reranker_revisions
from entail.encoders.encoder import BiEncoder
from entail.errors import EncoderError
from entail.registry.models import active, promote
from tests.hub.conftest import files_of


@pytest.fixture
def files(hub: Any, home: Path) -> dict[str, bytes]:
    """Files of `org/model`, which also has a pickle and code."""
    content = files_of(home / "tiny")
    hub.put("org/model", {**content, "pytorch_model.bin": b"", "modeling_code.py": b"raise SystemExit"})
    return content


def test_a_fetched_model_is_named_by_its_commit_and_encodes(
    hub: Any, files: dict[str, bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    entry = resolve("org/model")
    assert (entry.kind, entry.revision, entry.path) == ("hub", None, None)
    encoder = BiEncoder("org/model", device="cpu")
    assert (encoder.loaded, hub.asked) == (False, [])  # a name alone needs no network
    assert encoder.revision == f"org/model@{hub.repositories['org/model'].head}"
    assert (encoder.name, encoder.symmetric) == ("org/model", True)
    expected = BiEncoder("tiny", device="cpu").encode_queries(["ice is cold"])
    assert encoder.encode_queries(["ice is cold"]).tolist() == expected.tolist()
    assert not [path for path in hub.asked if path.endswith((".bin", ".py"))]
    assert capfd.readouterr() == ("", "")


def test_without_network_the_cache_answers(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    first = fetch(resolve("org/model"))
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert fetch(resolve("org/model")) == first
    with pytest.raises(EncoderError, match="cannot be reached"):
        fetch(resolve("org/other"))


def test_pickles_code_and_missing_models_are_refused(hub: Any, files: dict[str, bytes]) -> None:
    modules = json.loads(files["modules.json"])
    modules[0]["type"] = "modeling_code.Model"
    hub.put("org/pickle", {"pytorch_model.bin": b"", "config.json": b"{}"})
    hub.put("org/code", {**files, "modules.json": json.dumps(modules).encode()})
    for name in ("org/pickle", "org/code", "org/missing", "org/model@gone"):
        with pytest.raises(EncoderError, match=name.partition("@")[0]):
            fetch(resolve(name))


def test_an_adapter_on_a_hub_model_has_its_revision_after_fetching(
    hub: Any, files: dict[str, bytes], trained: Any
) -> None:
    trained("mine", base="org/model", base_revision=None)
    entry = resolve("mine")
    assert entry.revision is None
    encoder = BiEncoder(entry, device="cpu")
    assert encoder.revision.endswith(f"+org/model@{hub.repositories['org/model'].head}")
    assert encoder.encode_queries(["ice is cold"]).shape == (1, encoder.dimension)


def test_an_adapter_of_the_hub_is_fetched_with_its_base(
    hub: Any, files: dict[str, bytes], tmp_path: Path, write_own: Any
) -> None:
    model = write_own(tmp_path / "own")
    content = files_of(tmp_path / "own")
    config = json.loads(content["adapter_config.json"]) | {"base_model_name_or_path": "org/model"}
    hub.put("org/adapter", {**content, "adapter_config.json": json.dumps(config).encode()})
    assert fetch(resolve("org/adapter"), download=False).revision is None
    encoder = BiEncoder("org/adapter", device="cpu")
    heads = [hub.repositories[name].head for name in ("org/adapter", "org/model")]
    assert encoder.revision == "org/adapter@{}+own+org/model@{}".format(*heads)
    assert fetch(resolve("org/adapter"), download=False) == encoder.entry
    promote("org/adapter", by="Ada", anyway=True)
    assert (active().encoder, active().revision) == (f"org/adapter@{heads[0]}", encoder.revision)
    active().check()
    expected = model.encode(["ice is cold"], normalize_embeddings=True)
    assert np.allclose(encoder.encode_queries(["ice is cold"]), expected, atol=1e-5)


def test_a_list_fetches_nothing(
    hub: Any, files: dict[str, bytes], write_reranker: Any, scorer_folder: Any
) -> None:
    for folder in (write_reranker("reader"), scorer_folder("chain")):
        card = json.loads((folder / "entail.json").read_text(encoding="utf-8"))
        card |= {"base": "org/model", "base_revision": None}
        (folder / "entail.json").write_text(json.dumps(card), encoding="utf-8")
    assert (reranker_revisions(), [scorer.revision for scorer in list_scorers()]) == ({"reader": ""}, [None])
    assert hub.asked == []
    reader = Reranker("reader", device="cpu")
    hub.asked.clear()
    assert reranker_revisions() == {"reader": reader.revision}
    (revision,) = (scorer.revision for scorer in list_scorers())
    assert str(revision).endswith(f"+org/model@{hub.repositories['org/model'].head}")
    assert hub.asked == []
