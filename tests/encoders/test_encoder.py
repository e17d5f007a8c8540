"""Texts become unit vectors, by one copy of the weights, by torch alone or by sentence-transformers."""

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.bundled import sample_corpus
from entail.encoders import encoder as module
from entail.encoders.bert.folder import read_bert
from entail.encoders.bert.model import Bert, shared_bert
from entail.encoders.catalogue import EncoderEntry, resolve
from entail.encoders.encoder import BiEncoder, Encoder
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.towers import BertTowers
from entail.errors import EncoderError, SettingsError
from entail.progress import Progress
from tests.encoders.conftest import edit_json, edit_tensors

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


def test_nothing_is_loaded_before_the_first_text_and_progress_counts_each(encoder: BiEncoder) -> None:
    assert encoder.encode_queries([]).shape == (0, 8)
    assert encoder.name == "tiny"
    assert encoder.revision == resolve(encoder.entry.path or "").revision
    assert encoder.symmetric
    assert not encoder.loaded
    events: list[Progress] = []
    encoder.encode_premises(TEXTS, progress=events.append)
    assert encoder.loaded
    assert [(events[0].done, events[0].total), (events[-1].done, events[-1].total)] == [(0, 5), (5, 5)]


def test_prompts_separate_queries_from_premises(save_tiny: Callable[..., Path], tmp_path: Path) -> None:
    encoder = BiEncoder(save_tiny(tmp_path / "asking", prompts={"query": "fire fire ", "document": ""}))
    assert not encoder.symmetric
    query, premise = encoder.encode_queries(["ice"]), encoder.encode_premises(["ice"])
    assert np.abs(query - premise).max() > 0.01
    np.testing.assert_allclose(query, encoder.encode_premises(["fire fire ice"]), atol=1e-5)


def _cut(tensors: dict[str, Any]) -> None:
    name = "encoder.layer.0.attention.self.key.weight"
    tensors[name] = tensors[name][:4].contiguous()


@pytest.mark.parametrize(
    "edit",
    [
        lambda tensors: tensors["embeddings.word_embeddings.weight"].fill_(float("nan")),
        _cut,
        lambda tensors: tensors.pop("embeddings.LayerNorm.bias"),
        None,
    ],
)
def test_damaged_weights_are_refused(copied: Path, edit: Callable[[dict[str, Any]], object] | None) -> None:
    path = copied / "model.safetensors"
    if edit is None:
        path.write_bytes(path.read_bytes()[:-20])
    else:
        edit_tensors(path, edit)
    with pytest.raises(EncoderError):
        BiEncoder(copied).encode_queries(["ice"])


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


def test_threads_get_the_same_vectors(tiny: Path) -> None:
    expected = BiEncoder(tiny).encode_queries(TEXTS)
    encoder = BiEncoder(tiny, batch_size=1)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(encoder.encode_queries, [TEXTS] * 4):
            np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_a_card_cannot_turn_on_remote_code(copied: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (copied / "modeling_sly.py").write_text(f"open({str(marker)!r}, 'w')", encoding="utf-8")
    edit_json(copied / "sentence_bert_config.json", {"model_args": {"trust_remote_code": True}})
    BiEncoder(copied).load()
    assert not marker.exists()


VARIED = [
    "",
    "a",
    "  ice   is cold ",
    "ICE Is Cold",
    "no end of words " * 120,
    "x" * 300,
    "né café Ünïcode e\u0301 中文字 日本語 😀 \u200bzero",
    "ไทย हिन्दी العربية עברית \u202eback",
    "control\x00\x01\x1f tab\tnew\nline\r\u2028",
    "[MASK] and [SEP] of [CLS], [mask], [UNK], [PAD]",
    "¼ ½ \uff21\uff42\uff43 ﬁ ß İ",
    "don't stop-it, (really)? $5.00!",
]


def expected(folder: Path, texts: list[str]) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu").encode(texts, normalize_embeddings=True)


def by_torch_alone(encoder: BiEncoder) -> bool:
    encoder.load()
    return isinstance(encoder._towers, BertTowers)


def test_the_packaged_encoder_is_that_of_sentence_transformers_on_texts_of_every_kind() -> None:
    encoder = BiEncoder("minilm", batch_size=8)
    assert by_torch_alone(encoder)
    path = resolve("minilm").path
    texts = [*VARIED, *sample_corpus().texts[::1500]]
    vectors = encoder.encode_premises(texts)
    assert isinstance(encoder, Encoder)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected(path, texts), atol=1e-5)
    np.testing.assert_array_equal(vectors, encoder.encode_queries(texts))


@pytest.mark.parametrize(
    ("file", "changes", "plain"),
    [
        ("1_Pooling/config.json", {"pooling_mode": "cls"}, True),
        # Flags of files before sentence-transformers 5.
        ("1_Pooling/config.json", {"pooling_mode": None, "pooling_mode_cls_token": True}, True),
        ("sentence_bert_config.json", {"max_seq_length": 3}, True),
        ("config.json", {"hidden_act": "relu"}, False),
        ("1_Pooling/config.json", {"pooling_mode": "max"}, False),
    ],
)
def test_vectors_are_those_of_sentence_transformers(
    copied: Path, file: str, changes: dict[str, Any], plain: bool
) -> None:
    edit_json(
        copied / file,
        lambda content: {name: value for name, value in (content | changes).items() if value is not None},
    )
    encoder = BiEncoder(copied)
    assert by_torch_alone(encoder) == plain
    np.testing.assert_allclose(encoder.encode_queries(VARIED), expected(copied, VARIED), atol=1e-5)


NOT_PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "architecture": ("config.json", {"model_type": "roberta"}),
    "activation": ("config.json", {"hidden_act": "relu"}),
    "positions": ("config.json", {"position_embedding_type": "relative_key"}),
    "quantised": ("config.json", {"quantization_config": {"bits": 8}}),
    "no sizes": ("config.json", {"hidden_size": None}),
    "too long": ("sentence_bert_config.json", {"max_seq_length": 65}),
    "lower-casing": ("sentence_bert_config.json", {"do_lower_case": True}),
    "output": ("sentence_bert_config.json", {"module_output_name": "other"}),
    "pooling": ("1_Pooling/config.json", {"pooling_mode": "max"}),
    "two poolings": ("1_Pooling/config.json", {"pooling_mode": ["mean", "cls"]}),
    "prompt": ("config_sentence_transformers.json", {"prompts": {"query": "ask: "}}),
    "cut vectors": ("config_sentence_transformers.json", {"truncate_dim": 4}),
    "tokenizer": ("tokenizer_config.json", {"tokenizer_class": "DistilBertTokenizer"}),
    "padding": ("tokenizer_config.json", {"padding_side": "left"}),
    "case": ("tokenizer_config.json", {"do_lower_case": False}),
    "special tokens": ("tokenizer_config.json", {"mask_token": "<mask>"}),
    "pre-tokenizer": ("tokenizer.json", {"pre_tokenizer": {"type": "Whitespace"}}),
    "nonsense": ("tokenizer.json", {"model": [1]}),
}


@pytest.mark.parametrize(("file", "changes"), NOT_PLAIN.values(), ids=NOT_PLAIN.keys())
def test_what_is_not_plain_is_left_to_sentence_transformers(
    copied: Path, file: str, changes: dict[str, Any]
) -> None:
    assert read_bert(copied) is not None
    edit_json(copied / file, changes)
    assert read_bert(copied) is None


def test_a_folder_without_weights_is_not_plain(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    assert read_bert(copied) is None


def test_one_copy_of_the_weights_serves_all_and_goes_with_the_last(tiny: Path) -> None:
    import torch

    config = read_bert(tiny)
    models: list[Bert] = []

    def load(revision: str = "t@1", dtype: Any = torch.float32) -> None:
        models.append(shared_bert(config, name="t", revision=revision, device="cpu", dtype=dtype))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(bert) for bert in models}) == 1
    load(dtype=torch.bfloat16)
    load(revision="t@2")
    assert len({bert.words.data_ptr() for bert in models}) == 3
    gone = weakref.ref(models[0])
    models.clear()
    gc.collect()
    assert gone() is None


def test_a_first_query_imports_neither_transformers_nor_sentence_transformers(tmp_path: Path) -> None:
    heavy = ["transformers", "sentence_transformers", "sklearn", "scipy", "pandas", "peft", "huggingface_hub"]
    code = (
        "import sys\n"
        "from entail.data.bundled import sample_corpus\n"
        "from entail.index.factory import retriever\n"
        "index = retriever('minilm', sample_corpus())\n"
        "index.search(['a query that nobody typed before'], k=3)\n"
        "assert index._queries.encoder.loaded\n"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    environment = {"ENTAIL_DATA_DIR": str(tmp_path), "ENTAIL_DEVICE": "cpu", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
