"""A plain BERT run by torch alone gives the vectors of sentence-transformers; all else is left to that."""

import gc
import json
import shutil
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.bundled import sample_corpus
from entail.encoders.bert.folder import read_bert
from entail.encoders.bert.model import Bert, shared_bert
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.towers import BertTowers

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


@pytest.fixture
def folder(tiny: Path, tmp_path: Path) -> Path:
    """A copy of `tiny` to be changed."""
    return Path(shutil.copytree(tiny, tmp_path / "changed"))


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
    assert path is not None
    texts = [*VARIED, *sample_corpus().texts[::1500]]
    vectors = encoder.encode_premises(texts)
    np.testing.assert_allclose(vectors, expected(path, texts), atol=1e-5)
    np.testing.assert_array_equal(vectors, encoder.encode_queries(texts))


@pytest.mark.parametrize(
    ("file", "changes", "plain"),
    [
        ("config.json", {}, True),
        ("1_Pooling/config.json", {"pooling_mode": "cls"}, True),
        # Flags of files before sentence-transformers 5.
        ("1_Pooling/config.json", {"pooling_mode": None, "pooling_mode_cls_token": True}, True),
        ("sentence_bert_config.json", {"max_seq_length": 3}, True),
        ("config.json", {"hidden_act": "relu"}, False),
        ("1_Pooling/config.json", {"pooling_mode": "max"}, False),
    ],
)
def test_vectors_are_those_of_sentence_transformers(
    folder: Path, file: str, changes: dict[str, Any], plain: bool
) -> None:
    content = json.loads((folder / file).read_text(encoding="utf-8")) | changes
    kept = {name: value for name, value in content.items() if value is not None}
    (folder / file).write_text(json.dumps(kept), encoding="utf-8")
    encoder = BiEncoder(folder)
    assert by_torch_alone(encoder) == plain
    np.testing.assert_allclose(encoder.encode_queries(VARIED), expected(folder, VARIED), atol=1e-5)


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
    folder: Path, file: str, changes: dict[str, Any]
) -> None:
    assert read_bert(folder) is not None
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    assert read_bert(folder) is None


def test_a_folder_without_weights_is_not_plain(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert read_bert(folder) is None


def test_one_copy_of_the_weights_serves_all_and_goes_with_the_last(tiny: Path) -> None:
    import torch

    config = read_bert(tiny)
    assert config is not None
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
