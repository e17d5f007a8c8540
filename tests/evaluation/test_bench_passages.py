"""The bench of passages: what is drawn, what is divided by what, and what is multiplied on paper."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from entail.data.passages.files import Passage, Question


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("bench_passages")


@pytest.fixture
def squad(tmp_path: Path) -> Path:
    """Six paragraphs, each with a question that it answers."""
    paragraphs = [
        {
            "context": f"{name} is a word of many, and {name} {name} is {number} of them",
            "qas": [{"id": name, "question": f"what is {name}", "answers": [{"text": str(number)}]}],
        }
        for number, name in enumerate(["ba", "be", "bi", "bo", "bu", "by"])
    ]
    file = tmp_path / "squad.json"
    file.write_text(json.dumps({"version": "1.1", "data": [{"title": "", "paragraphs": paragraphs}]}))
    return file


def test_the_whole_of_it_on_a_tiny_encoder(
    script: ModuleType, squad: Path, tiny_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tiny_home.is_dir()
    out = tmp_path / "speed.json"
    few = ("--encode", "6", "--rounds", "2", "--pool", "4", "--asked", "3", "--search", "300")
    arguments = ("--passages", str(squad), "--questions", str(squad), "--encoder", "tiny", "--out", str(out))
    monkeypatch.setattr(sys, "argv", ["bench_passages.py", *arguments, *few])
    monkeypatch.setattr(script, "BATCH_SIZES", (2, 4))
    script.main()
    figures = json.loads(out.read_text(encoding="utf-8"))["figures"]
    encoding, quality, search = figures["encoding"], figures["quality"], figures["search"]
    assert (encoding["passages"], encoding["words_a_passage"]) == (6, 13)
    assert encoding["ours_bf16_to_stock_bf16"] > 0
    assert "ours_bf16_to_stock_fp32" not in encoding
    assert encoding["stock_fp32_batch_size"] in (2, 4)
    assert (quality["passages"], quality["questions"]) == (4, 3)
    assert 0.9 < quality["bf16_cosine"]["least"] <= quality["bf16_cosine"]["mean"] <= 1 + 1e-6
    assert quality["bf16_MRR_less_fp32"] == pytest.approx(quality["bf16_MRR"] - quality["fp32_MRR"], abs=1e-4)
    assert (search["passages"], search["in_memory"]["runs"], search["on_disk"]["runs"]) == (300, 3, 3)
    assert search["product_quantised"]["bytes_a_passage"] == 2  # of 16 numbers
    assert figures["natural_questions"]["passages"] == 21_015_324


def test_a_ratio_is_the_median_of_the_rounds(script: ModuleType) -> None:
    times = {
        "ours_fp32": [1.0, 2.0, 4.0],
        "stock_fp32": [2.0, 6.0, 4.0],
        "stock_bf16": [1.0, 3.0, 2.0],
    }
    figures = script.rates(times, 100)
    assert figures["ours_fp32_tokens_per_s"] == 50
    ratios = {name: value for name, value in figures.items() if "_to_" in name}
    assert ratios == {
        "ours_fp32_to_stock_fp32": 2.0,  # of 2, 3, 1
    }


def test_a_pool_holds_the_passages_of_its_questions(script: ModuleType) -> None:
    passages = [Passage(str(number), f"text {number}") for number in range(20)]
    questions = [
        Question(str(number), "?", (), (str(number * 3),)) for number in range(10)
    ]  # some gold: nowhere
    pool, sample = script.sampled(passages, questions, pool=9, asked=5)
    assert (len(pool), len(sample)) == (9, 5)
    assert {question.gold[0] for question in sample} <= {passage.id for passage in pool}
    assert [int(passage.id) for passage in pool] == sorted(int(passage.id) for passage in pool)
    assert script.sampled(passages, [], pool=90, asked=5) == (passages, [])


def test_vectors_are_repeated_with_jitter(script: ModuleType) -> None:
    vectors = np.eye(4, dtype=np.float32)[:3]
    many = script.repeated(vectors, 8)
    assert (many.shape, many.dtype) == ((8, 4), np.float32)
    np.testing.assert_allclose(np.linalg.norm(many, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(many[:3], vectors)
    assert (many[3:6] != vectors).any()
    assert (many[3:6] * vectors).sum(axis=1).min() > 0.9
