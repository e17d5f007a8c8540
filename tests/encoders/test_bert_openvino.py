"""OpenVINO runs a plain BERT: the same vectors, but for what bf16 takes from them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from entail.encoders.bert import openvino as module
from entail.encoders.device import dtype_of
from entail.encoders.encoder import BiEncoder, load
from entail.errors import EncoderError, SettingsError

TEXTS = ["ice is cold", "", "the moon is a kind of rock", "water " * 90, "a star is hot", "fire"]

Save = Callable[..., Path]


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let OpenVINO compute in fp32, so that what its graph does can be told from what bf16 does."""
    pytest.importorskip("openvino", reason="an extra; tests/requirements.txt names it")
    monkeypatch.setattr(module, "HINT", "f32")


@pytest.mark.usefixtures("whole")
def test_the_graph_is_that_of_torch_for_texts_of_every_length(tiny: Path) -> None:
    expected = BiEncoder(tiny).encode_queries(TEXTS)
    encoder = BiEncoder(tiny, precision="openvino")
    np.testing.assert_allclose(encoder.encode_queries(TEXTS), expected, atol=1e-5)
    for text, vector in zip(TEXTS, expected, strict=True):  # alone, hence without padding
        np.testing.assert_allclose(encoder.encode_premises([text])[0], vector, atol=1e-5)


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("kind", ["single", "dual"])
def test_each_tower_has_its_own_adapter(kind: str, save_adapter: Save, tiny: Path, tmp_path: Path) -> None:
    folder = save_adapter(tmp_path / "tuned", tiny, target_modules=["query", "dense"])
    if kind == "dual":
        save_adapter(folder / "premise_tower", tiny, seed=2)
    record = {"method": "aeenc", "base": str(tiny), "towers": kind}
    (folder / "entail.json").write_text(json.dumps(record), encoding="utf-8")
    torch, openvino = BiEncoder(folder), BiEncoder(folder, precision="openvino")
    np.testing.assert_allclose(openvino.encode_queries(TEXTS), torch.encode_queries(TEXTS), atol=1e-5)
    np.testing.assert_allclose(openvino.encode_premises(TEXTS), torch.encode_premises(TEXTS), atol=1e-5)


@pytest.mark.usefixtures("whole")
def test_the_vector_of_the_first_token_where_the_pooling_says_so(save_tiny: Save, tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "first")
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps(json.loads(pooling.read_text()) | {"pooling_mode": "cls"}))
    vectors = BiEncoder(folder, precision="openvino").encode_queries(TEXTS)
    np.testing.assert_allclose(vectors, BiEncoder(folder).encode_queries(TEXTS), atol=1e-5)


def test_it_is_close_and_has_a_revision_of_its_own(tiny: Path) -> None:
    pytest.importorskip("openvino", reason="an extra; tests/requirements.txt names it")
    encoder, exact = load(tiny, precision="openvino"), BiEncoder(tiny)
    assert encoder.revision == f"{exact.revision}+openvino"
    assert encoder.premise_revision == encoder.revision
    cosines = (encoder.encode_premises(TEXTS) * exact.encode_premises(TEXTS)).sum(axis=1)
    assert cosines.min() > 0.99


def test_without_openvino_it_is_said_how_to_install_it(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(EncoderError, match=r"pip install openvino==2026\.4\.1"):
        load(tiny, precision="openvino")


def test_what_is_no_plain_bert_is_refused(save_tiny: Save, tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "asking", prompts={"query": "fire ", "document": ""})
    with pytest.raises(EncoderError, match="expected a plain BERT for precision openvino"):
        load(folder, precision="openvino")


def test_a_gpu_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"runs on the processor, found device 'cuda:1'"):
        dtype_of("openvino", "cuda:1")
