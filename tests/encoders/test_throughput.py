"""Throughput of an encoder here, and its memory."""

import itertools
import platform
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from entail.encoders.catalogue import resolve
from entail.encoders.device import device_in_words, trim_heap
from entail.encoders.encoder import BiEncoder
from entail.encoders.stock import StockTowers
from entail.encoders.throughput import distinct_texts, measure_throughput
from entail.progress import Progress


def test_texts_are_never_the_same() -> None:
    texts = list(itertools.islice(distinct_texts(), 5000))
    assert len(set(texts)) == 5000
    assert {len(text.split()) for text in texts} == {15}


def test_as_many_texts_as_fit_the_time_are_encoded_and_where_is_said(tiny_home: Path) -> None:
    events: list[Progress] = []
    throughput = measure_throughput(BiEncoder("tiny"), seconds=0.0, progress=events.append)
    assert throughput.texts == 128
    assert throughput.rate == throughput.texts / throughput.seconds > 0
    assert "cores" in throughput.machine
    assert events[-1].fraction == 1.0


def test_a_base_is_told_apart_from_what_stands_on_it(trained: Callable[..., Path]) -> None:
    trained("mine")
    base, adapter = BiEncoder("tiny"), BiEncoder("mine")
    assert base.memory is None
    base.load()
    adapter.load()
    assert base.memory is not None
    assert adapter.memory is not None
    assert base.memory.own == 0 < adapter.memory.own < adapter.memory.shared == base.memory.shared
    # The same weights by sentence-transformers, pooler and position ids added, belong to nobody else.
    import torch

    stock = StockTowers(resolve("tiny"), device="cpu", dtype=torch.float32).memory
    assert (stock.shared, stock.own >= base.memory.shared) == (0, True)


def test_a_gpu_is_named_with_what_is_taken_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (60_000_000_000, 80_000_000_000))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A GPU")
    assert device_in_words("cuda:1") == "A GPU (cuda:1), 20.0 of 80 GB taken"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others return freed blocks by themselves")
def test_freed_blocks_return_to_the_system() -> None:
    process = psutil.Process()
    blocks = [b"x" * 32_768 for _ in range(8_000)]  # 256 MB
    sample = blocks[::50]
    del blocks
    before = process.memory_info().rss
    trim_heap()
    assert before - process.memory_info().rss > 150 << 20
    assert len(sample) == 160
