"""`scripts/bench_serving.py` against a running server."""

from collections.abc import Callable
from types import ModuleType

import pytest

from tests.serving.conftest import Served


def test_counts_and_refusals(load_script: Callable[[str], ModuleType], served: Served) -> None:
    script = load_script("bench_serving")
    texts = iter([f"ba be {number}" for number in range(10_000)])
    figures = script.ask(served.port, 3, 0.3, texts)
    count = sum(len(texts) for texts, _ in served.encoder.calls) - 1  # one text warmed the encoder
    assert figures["texts"] == count >= 3
    assert 0 < figures["p50_ms"] <= figures["p95_ms"]
    assert figures["texts_per_second"] > 0
    with pytest.raises(SystemExit):
        script.ask(served.port, 2, 0.3, iter([" "] * 9))
