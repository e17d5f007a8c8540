"""Batches, observed by the calls of the encoder."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.cancellation import cancellable
from entail.errors import EncoderError, ServingError
from entail.serving.batching import CHARS_A_TEXT, Batcher, Call, Floats, Lane

QUERY, PREMISE, RAW = Lane("query"), Lane("premise"), Lane("query", normalised=False)
SOON = 10.0


class Slow:
    """An encoder that waits at its gate; a text's vector tells the text and the lane."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.calls: list[tuple[list[str], Lane]] = []
        self.bad = ""

    def __call__(self, texts: Sequence[str], lane: Lane) -> Floats:
        self.calls.append((list(texts), lane))
        self.entered.release()
        assert self.gate.wait(SOON)
        if self.bad in texts:
            raise EncoderError("a text that breaks it")
        return vectors(texts, lane)


def vectors(texts: Sequence[str], lane: Lane) -> Floats:
    answer = [(len(text), sum(map(ord, text)), lane.tower == "query", lane.normalised) for text in texts]
    return np.array(answer, dtype=np.float32)


def held(encoder: Slow, **options: float) -> Batcher:
    """Return a batcher whose thread is at the encoder with the text "first"."""
    batcher = Batcher(encoder, name="slow", **options)  # type: ignore[arg-type]  # only `encode` is asked
    batcher.submit(["first"], QUERY)
    assert encoder.entered.acquire(timeout=SOON)
    return batcher


def test_waiting_texts_share_a_call() -> None:
    encoder = Slow()
    batcher = held(encoder)
    texts = [f"{'x' * (40 - i)}{i}" for i in range(31)]
    futures = [batcher.submit([text], QUERY) for text in texts]
    assert batcher.waiting == 31
    encoder.gate.set()
    for text, future in zip(texts, futures, strict=True):
        np.testing.assert_array_equal(future.result(SOON), vectors([text], QUERY))
    assert len(encoder.calls) == 2
    batch = encoder.calls[1][0]
    assert sorted(batch) == sorted(texts)
    assert [len(text) for text in batch] == sorted(len(text) for text in batch)
    assert batcher.waiting == 0
    batcher.close()


def test_equal_texts_are_encoded_once() -> None:
    encoder = Slow()
    batcher = held(encoder)
    futures = [batcher.submit(["same", "same", f"other {i % 2}"], QUERY) for i in range(6)]
    encoder.gate.set()
    for i, future in enumerate(futures):
        np.testing.assert_array_equal(future.result(SOON), vectors(["same", "same", f"other {i % 2}"], QUERY))
    assert encoder.calls[1:] == [(["same", "other 0", "other 1"], QUERY)]
    batcher.close()


def test_lanes_never_share_a_call() -> None:
    encoder = Slow()
    batcher = held(encoder)
    lanes = [QUERY, PREMISE, RAW] * 3
    futures = [batcher.submit([f"text {i}"], lane) for i, lane in enumerate(lanes)]
    encoder.gate.set()
    for i, (lane, future) in enumerate(zip(lanes, futures, strict=True)):
        np.testing.assert_array_equal(future.result(SOON), vectors([f"text {i}"], lane))
    assert [(len(texts), lane) for texts, lane in encoder.calls[1:]] == [(3, QUERY), (3, PREMISE), (3, RAW)]
    batcher.close()


def test_long_request_takes_turns() -> None:
    encoder = Slow()
    batcher = held(encoder, batch=4)
    long = batcher.submit([f"long {i}" for i in range(10)], QUERY)
    short = batcher.submit(["short"], QUERY)
    encoder.gate.set()
    np.testing.assert_array_equal(long.result(SOON), vectors([f"long {i}" for i in range(10)], QUERY))
    np.testing.assert_array_equal(short.result(SOON), vectors(["short"], QUERY))
    assert [len(texts) for texts, _ in encoder.calls[1:]] == [4, 4, 3]
    assert "short" in encoder.calls[2][0]
    batcher.close()


def test_cancelled_during_its_batches() -> None:
    encoder = Slow()
    batcher = Batcher(encoder, name="slow", batch=2)
    long = batcher.submit([f"text {i}" for i in range(9)], QUERY)
    assert encoder.entered.acquire(timeout=SOON)
    assert batcher.waiting == 7
    assert long.cancel()
    assert batcher.waiting == 0
    encoder.gate.set()
    batcher.close()
    assert len(encoder.calls) == 1


class Stepwise:
    """An encoder of one text at a time that may be cancelled before each."""

    def __init__(self) -> None:
        self.begun, self.allowed = threading.Semaphore(0), threading.Semaphore(0)
        self.encoded: list[str] = []

    def __call__(self, texts: Sequence[str], lane: Lane) -> Floats:
        for text in cancellable(texts):
            self.encoded.append(text)
            self.begun.release()
            assert self.allowed.acquire(timeout=SOON)
        return vectors(texts, lane)


@pytest.mark.parametrize("both", [False, True])
def test_batch_ends_when_all_its_requests_are_cancelled(both: bool) -> None:
    encoder = Stepwise()
    batcher = Batcher(encoder, name="stepwise")
    batcher.submit(["first"], QUERY)
    assert encoder.begun.acquire(timeout=SOON)
    first, second = batcher.submit(["a", "b"], QUERY), batcher.submit(["cc", "dd"], QUERY)
    encoder.allowed.release()
    assert encoder.begun.acquire(timeout=SOON)
    assert first.cancel()
    assert not both or second.cancel()
    encoder.allowed.release(9)
    assert len(batcher.submit(["last"], QUERY).result(SOON)) == 1
    assert encoder.encoded == ["first", "a", *([] if both else ["b", "cc", "dd"]), "last"]
    assert both or len(second.result(SOON)) == 2
    batcher.close()


def test_batch_of_long_texts_is_small() -> None:
    encoder = Slow()
    batcher = held(encoder, batch=4)
    long, longest = "long" * CHARS_A_TEXT, "longest" * CHARS_A_TEXT
    futures = [batcher.submit([longest, "a", long, "b"], QUERY), batcher.submit(["c"], QUERY)]
    encoder.gate.set()
    for future, count in zip(futures, (4, 1), strict=True):
        assert len(future.result(SOON)) == count
    assert [texts for texts, _ in encoder.calls[1:]] == [[longest], ["c", "a"], [long], ["b"]]
    batcher.close()


def test_failing_text_fails_alone() -> None:
    encoder = Slow()
    encoder.bad = "bad"
    batcher = held(encoder)
    futures = [batcher.submit([text], QUERY) for text in ("good", "bad", "better")]
    encoder.gate.set()
    assert len(futures[0].result(SOON)) == len(futures[2].result(SOON)) == 1
    with pytest.raises(EncoderError, match="breaks"):
        futures[1].result(SOON)
    batcher.close()


def test_close() -> None:
    encoder = Slow()
    batcher = held(encoder)
    waits = batcher.submit(["waits"], QUERY)
    batcher.close(wait=False)
    with pytest.raises(ServingError, match="shutting down"):
        batcher.submit(["late"], QUERY)
    encoder.gate.set()
    batcher.close()
    assert len(waits.result(0)) == 1


def test_call_cancelled_or_out_of_time() -> None:
    future: Future[Floats] = Future()
    call = Call(SOON)
    threading.Timer(0.05, call.cancel).start()
    with pytest.raises(ServingError, match="took longer"):
        call.result(future)
    assert future.cancelled()
    with pytest.raises(ServingError, match="took longer"):
        call.check()
    late: Future[Floats] = Future()
    with pytest.raises(ServingError, match="took longer"):
        Call(0).result(late)
    assert late.cancelled()


@given(
    st.lists(
        st.tuples(st.lists(st.text(max_size=6), min_size=1, max_size=9), st.sampled_from([QUERY, PREMISE])),
        max_size=12,
    ),
    st.integers(1, 5),
)
def test_each_request_gets_its_own_vectors(requests: list[Any], batch: int) -> None:
    batcher = Batcher(vectors, name="quick", batch=batch, gather_ms=0.1)
    futures = [batcher.submit(texts, lane) for texts, lane in requests]
    for (texts, lane), future in zip(requests, futures, strict=True):
        np.testing.assert_array_equal(future.result(SOON), vectors(texts, lane))
    batcher.close()
