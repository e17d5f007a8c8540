"""Texts become unit vectors, by one copy of the weights that is loaded when first needed."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.encoders import encoder as module
from entail.encoders.catalogue import EncoderEntry, resolve
from entail.encoders.encoder import BiEncoder, Encoder
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.stock import MAX_LENGTH, sentence_transformer
from entail.errors import EncoderError, SettingsError
from entail.progress import Progress

TEXTS = [
    "ice is cold",
    "fire",
    "the moon is a kind of rock and a star is a kind of a kind of a kind of fire",
    "water is hot",
    "a star is hot",
]


@pytest.fixture
def encoder(tiny: Path) -> BiEncoder:
    return BiEncoder(tiny, batch_size=2)


def test_batches_by_length_come_back_in_the_order_given(encoder: BiEncoder) -> None:
    together = encoder.encode_queries(TEXTS)
    assert isinstance(encoder, Encoder)
    assert (together.shape, together.dtype) == ((5, 8), np.float32)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(encoder.encode_queries([text])[0], vector, atol=1e-5)
    assert np.linalg.norm(together[0] - together[1]) > 0.01


def test_texts_that_the_tokenizer_cannot_tell_apart_get_equal_vectors(encoder: BiEncoder) -> None:
    # Of unlike length in characters, hence in batches with others.
    texts = [*TEXTS, "ice  is   cold", "Fire", "a star is hot ", "ICE IS COLD"]
    vectors = encoder.encode_premises(texts)
    for first, second in ((0, 5), (0, 8), (1, 6), (4, 7)):
        np.testing.assert_array_equal(vectors[first], vectors[second])
    np.testing.assert_allclose(vectors[:5], encoder.encode_premises(TEXTS), atol=1e-5)
    assert len(np.unique(vectors, axis=0)) == 5


@pytest.mark.parametrize("asking", [False, True])
def test_lone_surrogates_are_unknown_characters(
    encoder: BiEncoder, save_tiny: Callable[..., Path], tmp_path: Path, asking: bool
) -> None:
    if asking:  # run by sentence-transformers
        encoder = BiEncoder(save_tiny(tmp_path / "asking", prompts={"query": "fire ", "document": ""}))
    vectors = encoder.encode_queries(["\ud800", "ice \udc00 is \ud83d\ude00"])
    expected = encoder.encode_queries(["\ufffd", "ice \ufffd is \U0001f600"])
    np.testing.assert_array_equal(vectors, expected)
    assert encoder.cut(["\ud800", "\ud800 ice " * 500]) == [False, True]


def test_nothing_is_loaded_before_the_first_text(encoder: BiEncoder) -> None:
    assert encoder.encode_queries([]).shape == (0, 8)
    assert encoder.name == "tiny"
    assert encoder.revision == resolve(encoder.entry.path or "").revision
    assert encoder.symmetric
    assert not encoder.loaded
    encoder.encode_queries(["ice"])
    assert encoder.loaded


def test_progress_counts_every_sentence_and_starts_at_none(encoder: BiEncoder) -> None:
    events: list[Progress] = []
    encoder.encode_premises(TEXTS, progress=events.append)
    assert [(events[0].done, events[0].total), (events[-1].done, events[-1].total)] == [(0, 5), (5, 5)]


def test_prompts_separate_queries_from_premises(save_tiny: Callable[..., Path], tmp_path: Path) -> None:
    encoder = BiEncoder(save_tiny(tmp_path / "asking", prompts={"query": "fire fire ", "document": ""}))
    assert not encoder.symmetric
    query, premise = encoder.encode_queries(["ice"]), encoder.encode_premises(["ice"])
    assert np.abs(query - premise).max() > 0.01
    np.testing.assert_allclose(query, encoder.encode_premises(["fire fire ice"]), atol=1e-5)


def test_a_model_without_a_limit_gets_the_default(tiny: Path, tmp_path: Path) -> None:
    """T5 has no positions that end, and its tokenizer need not say how long a text may be."""
    from transformers import T5Config, T5EncoderModel

    folder = tmp_path / "t5"
    config = T5Config(vocab_size=99, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    T5EncoderModel(config).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny / name, folder / name)
    tokenizer_config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({**tokenizer_config, "model_max_length": int(1e30)})
    )
    assert sentence_transformer(folder, device="cpu").max_seq_length == MAX_LENGTH
    assert BiEncoder(folder, device="cpu").cut(["ice " * MAX_LENGTH, "ice"]) == [True, False]
    assert sentence_transformer(tiny, device="cpu").max_seq_length == 64  # what says its limit keeps it


def _spoil(tensors: dict[str, Any]) -> None:
    tensors["embeddings.word_embeddings.weight"][:] = float("nan")


def _cut(tensors: dict[str, Any]) -> None:
    name = "encoder.layer.0.attention.self.key.weight"
    tensors[name] = tensors[name][:4].contiguous()


@pytest.mark.parametrize(
    "edit", [_spoil, _cut, lambda tensors: tensors.pop("embeddings.LayerNorm.bias"), None]
)
def test_damaged_weights_are_refused(
    tiny: Path, tmp_path: Path, edit: Callable[[dict[str, Any]], object] | None
) -> None:
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(tiny, tmp_path / "broken"))
    path = folder / "model.safetensors"
    if edit is None:
        path.write_bytes(path.read_bytes()[:-20])
    else:
        tensors = load_file(path)
        edit(tensors)
        save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(EncoderError):
        BiEncoder(folder).encode_queries(["ice"])


@pytest.mark.parametrize("device", ["cuda:99", "toaster"])
def test_a_missing_device_is_refused(tiny: Path, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError):
        BiEncoder(tiny, device=device).load()
    monkeypatch.setenv("ENTAIL_DEVICE", device)
    with pytest.raises(SettingsError):
        BiEncoder(tiny).load()


def test_gaussians_are_encoded_in_fp32_on_a_gpu(
    gaussian: str, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precisions = []

    def stand_in(entry: EncoderEntry, *, device: str, precision: str) -> object:
        precisions.append(precision)
        raise EncoderError("there is no GPU here")

    monkeypatch.setattr(module, "device_name", lambda device: "cuda")
    monkeypatch.setattr(module, "load_towers", stand_in)
    for encoder in (BiEncoder(gaussian), GaussianEncoder(gaussian), BiEncoder(tiny)):
        with pytest.raises(EncoderError):
            encoder.load()
    assert precisions == ["fp32", "fp32", "auto"]


def test_threads_share_one_copy_and_get_the_same_vectors(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads, load = [], module._load

    def counting(*arguments: Any) -> Any:
        loads.append(arguments)
        return load(*arguments)

    expected = BiEncoder(tiny).encode_queries(TEXTS)
    monkeypatch.setattr(module, "_load", counting)
    encoder = BiEncoder(tiny, batch_size=1)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(encoder.encode_queries, [TEXTS] * 4))
    assert len(loads) == 1
    for vectors in answers:
        np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_a_card_cannot_turn_on_remote_code(tiny: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny, tmp_path / "sly"))
    marker = tmp_path / "ran"
    (folder / "modeling_sly.py").write_text(f"open({str(marker)!r}, 'w')", encoding="utf-8")
    config = json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8"))
    config["model_args"] = {"trust_remote_code": True}
    (folder / "sentence_bert_config.json").write_text(json.dumps(config), encoding="utf-8")
    BiEncoder(folder).load()
    assert not marker.exists()
