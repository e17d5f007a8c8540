"""The bench of passages: what is drawn, what is divided by what, and what is multiplied on paper."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from entail.data.passages.files import Passage, Question
from entail.encoders.bert.folder import BertConfig


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("bench_passages")


@pytest.fixture
def squad(tmp_path: Path) -> Path:
    """Six paragraphs, each with a question that it answers."""
    paragraphs = [
        {
            "context": f"{name} is a word of many, and {name} {name} is {place} of them",
            "qas": [{"id": name, "question": f"what is {name}", "answers": [{"text": str(place)}]}],
        }
        for place, name in enumerate(["ba", "be", "bi", "bo", "bu", "by"])
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
    told = ("--passages", str(squad), "--questions", str(squad), "--encoder", "tiny", "--out", str(out))
    monkeypatch.setattr(sys, "argv", ["bench_passages.py", *told, *few])
    monkeypatch.setattr(script, "BATCH_SIZES", (2, 4))
    monkeypatch.setattr(script, "precisions", lambda device: ("fp32", "bf16"))
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
        "ours_openvino": [1.0, 1.0, 1.0],
        "stock_fp32": [2.0, 6.0, 4.0],
        "stock_bf16": [1.0, 3.0, 2.0],
    }
    found = script.rates(times, 100)
    assert found["ours_fp32_tokens_per_s"] == 50
    ratios = {name: value for name, value in found.items() if "_to_" in name}
    assert ratios == {
        "ours_fp32_to_stock_fp32": 2.0,  # of 2, 3, 1
        "ours_openvino_to_stock_fp32": 4.0,
        "ours_openvino_to_stock_bf16": 2.0,
    }


def test_every_round_begins_with_another_way(script: ModuleType) -> None:
    told: list[str] = []
    ways = {name: lambda texts, name=name: told.append(name) for name in "abc"}
    found = script.in_turns(ways, ["text"], rounds=3)
    assert "".join(told) == "abc" + "abc" + "bca" + "cab"  # the first round warms up
    assert {name: len(times) for name, times in found.items()} == {"a": 3, "b": 3, "c": 3}


def test_a_pool_holds_the_passages_of_its_questions(script: ModuleType) -> None:
    passages = [Passage(str(place), f"text {place}") for place in range(20)]
    questions = [
        Question(str(place), "?", (), (str(place * 3),)) for place in range(10)
    ]  # some gold: nowhere
    pool, asked = script.sampled(passages, questions, pool=9, asked=5)
    assert (len(pool), len(asked)) == (9, 5)
    assert {one.gold[0] for one in asked} <= {one.id for one in pool}
    assert [int(one.id) for one in pool] == sorted(int(one.id) for one in pool)
    assert script.sampled(passages, [], pool=90, asked=5) == (passages, [])


def test_vectors_are_repeated_with_jitter(script: ModuleType) -> None:
    vectors = np.eye(4, dtype=np.float32)[:3]
    many = script.repeated(vectors, 8)
    assert (many.shape, many.dtype) == ((8, 4), np.float32)
    np.testing.assert_allclose(np.linalg.norm(many, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(many[:3], vectors)
    assert (many[3:6] != vectors).any()
    assert (many[3:6] * vectors).sum(axis=1).min() > 0.9


def test_the_estimate_is_what_was_measured_times_what_is_assumed(script: ModuleType) -> None:
    sizes: dict[str, Any] = {"heads": 12, "vocabulary": 9, "positions": 512, "padding": 0, "max_length": 256}
    config = BertConfig(Path(), layers=6, dimension=384, inner=1536, epsilon=1e-12, pooling="mean", **sizes)
    # A layer of MiniLM: 4 maps of d by d, 2 of d by 4 d, and 100 tokens looked at twice.
    assert script.flop_per_token(config, 100) == 6 * (2 * 12 * 384**2 + 4 * 100 * 384)
    found = script.estimate(
        {
            "tokens_a_passage": 132.0,
            "words_a_passage": 100.0,
            "ours_fp32_tokens_per_s": 4000,
            "ours_fp32_to_stock_fp32": 1.1,
            "stock_fp32_tokens_per_s": 3000,
            "tokenizing_tokens_per_s": 500_000,
        },
        {
            "passages": 21_000,
            "in_memory": {"p50_ms": 2.0},
            "on_disk": {"p50_ms": 3.0},
            "many_at_once": {"ms_a_question": 1.0},
            "product_quantised": {"bytes_a_passage": 48, "ns_a_passage": 50.0},
        },
        config,
    )
    assert found["tokens_a_passage"] == pytest.approx(1.3 * 103 + 2, abs=0.1)
    hours = found["encoding_on_this_processor_hours, scaled from the measured rate"]
    assert hours == {"fp32": round(135.9 * 21_015_324 / 4000 / 3600, 1)}
    gpu = found["encoding_on_one_H200, on paper"]
    assert gpu["mflop_a_token"] == 22.5
    assert gpu["million_tokens_per_s"] == "4.4 to 17.6"
    assert gpu["gpu_minutes"] == "3 to 11"
    assert gpu["tokenizing_minutes, measured rate on assumed cores"] == 12
    assert gpu["minutes"] == "15 to 23"
    assert found["vectors_gb"] == {"fp32": 32.3, "fp16": 16.1}
    flat = found["flat_fp16_on_one_H200, exact, on paper"]
    assert flat["ms_a_question_alone, by memory bandwidth"] == 3.4
    here = found["flat_fp32_here, exact, one thread, scaled from the measured time"]
    assert here["s_a_question_alone"] == 3.0
    assert here["minutes_for_3610_questions_at_once"] == 60
    inverted = found["ivf16384_pq48_here, inexact, scaled from the measured scan"]
    assert inverted["gb"] == 1.2
    assert inverted["ms_a_question"] == round(2 * 16_384 / 21_000 + 21_015_324 * 32 / 16_384 * 50 / 1e6, 1)
