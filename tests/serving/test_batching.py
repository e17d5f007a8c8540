"""Batches, observed by the calls of the encoder."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.cancellation import check_cancelled
from entail.errors import EncoderError, ServingError
from entail.serving.batching import CHARS_A_TEXT, Batcher, Call, Floats, Lane

QUERY, PREMISE, RAW = Lane("query"), Lane("premise"), Lane("query", normalised=False)
SOON = 10.0


class Slow:
    """An encoder that waits at its gate; a vector tells its text and lane."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.calls: list[tuple[list[str], Lane]] = []

    def __call__(self, texts: Sequence[str], lane: Lane) -> Floats:
        self.calls.append((list(texts), lane))
        self.entered.release()
        assert self.gate.wait(SOON)
        check_cancelled()
        if "bad" in texts:
            raise EncoderError("a text that breaks it")
        return vectors(texts, lane)


def vectors(texts: Sequence[str], lane: Lane) -> Floats:
    answer = [(len(text), sum(map(ord, text)), lane.tower == "query", lane.normalised) for text in texts]
    return np.array(answer, dtype=np.float32)


def batches_of(
    requests: Sequence[tuple[Sequence[str], Lane]], **options: Any
) -> list[tuple[list[str], Lane]]:
    """Return the calls for requests that wait together, each of which gets its own vectors."""
    encoder = Slow()
    batcher = Batcher(encoder, name="slow", **options)
    batcher.submit(["first"], QUERY)
    assert encoder.entered.acquire(timeout=SOON)
    futures = [batcher.submit(texts, lane) for texts, lane in requests]
    assert batcher.waiting == sum(len(texts) for texts, _ in requests)
    encoder.gate.set()
    for future, (texts, lane) in zip(futures, requests, strict=True):
        np.testing.assert_array_equal(future.result(SOON), vectors(texts, lane))
    assert batcher.waiting == 0
    batcher.close()
    return encoder.calls[1:]


def test_waiting_texts_share_a_call_by_length() -> None:
    texts = [f"{'x' * (40 - i)}{i}" for i in range(31)]
    ((batch, _),) = batches_of([([text], QUERY) for text in texts])
    assert sorted(batch) == sorted(texts)
    assert batch == sorted(batch, key=len)


def test_equal_texts_are_encoded_once_and_lanes_apart() -> None:
    same = ["same", "same", "other"]
    assert batches_of([(same, QUERY), (same, PREMISE), (same, RAW), (same, QUERY)]) == [
        (["same", "other"], lane) for lane in (QUERY, PREMISE, RAW)
    ]


def test_long_request_takes_turns() -> None:
    calls = batches_of([([f"long {i}" for i in range(10)], QUERY), (["short"], QUERY)], batch=4)
    assert [len(texts) for texts, _ in calls] == [4, 4, 3]
    assert "short" in calls[1][0]


def test_batch_of_long_texts_is_small() -> None:
    long, longest = "long" * CHARS_A_TEXT, "longest" * CHARS_A_TEXT
    calls = batches_of([([longest, "a", long, "b"], QUERY), (["c"], QUERY)], batch=4)
    assert [texts for texts, _ in calls] == [[longest], ["c", "a"], [long], ["b"]]


@given(
    st.lists(
        st.tuples(st.lists(st.text(max_size=6), min_size=1, max_size=9), st.sampled_from([QUERY, PREMISE])),
        max_size=12,
    ),
    st.integers(1, 5),
)
def test_each_request_gets_its_own_vectors(requests: list[Any], batch: int) -> None:
    batches_of(requests, batch=batch, gather_ms=0.1)


def test_cancelled_requests_leave_the_queue_and_end_their_batch() -> None:
    encoder = Slow()
    batcher = Batcher(encoder, name="slow", batch=2)
    long = batcher.submit([f"text {i}" for i in range(9)], QUERY)
    assert encoder.entered.acquire(timeout=SOON)
    assert batcher.waiting == 7
    first, second = batcher.submit(["a"], QUERY), batcher.submit(["b"], QUERY)
    assert long.cancel()
    assert first.cancel()
    assert batcher.waiting == 1
    encoder.gate.set()
    assert len(second.result(SOON)) == 1
    batcher.close()
    assert [texts for texts, _ in encoder.calls] == [["text 0", "text 1"], ["b"]]


def test_failing_text_fails_alone_and_pending_texts_are_encoded_before_the_end() -> None:
    encoder = Slow()
    batcher = Batcher(encoder, name="slow")
    batcher.submit(["first"], QUERY)
    assert encoder.entered.acquire(timeout=SOON)
    good, bad, better = (batcher.submit([text], QUERY) for text in ("good", "bad", "better"))
    batcher.close(wait=False)
    with pytest.raises(ServingError) as caught:
        batcher.submit(["late"], QUERY)
    assert (caught.value.kind, caught.value.status) == ("not_ready", 503)
    encoder.gate.set()
    batcher.close()
    assert len(good.result(0)) == len(better.result(0)) == 1
    with pytest.raises(EncoderError):
        bad.result(0)


@pytest.mark.parametrize("seconds", [0.0, SOON])
def test_call_cancelled_or_out_of_time(seconds: float) -> None:
    future: Future[Floats] = Future()
    call = Call(seconds)
    threading.Timer(0.05, call.cancel).start()
    with pytest.raises(ServingError) as caught:
        call.result(future)
    assert (caught.value.kind, caught.value.status) == ("timeout", 504)
    assert future.cancelled()
    with pytest.raises(ServingError):
        call.check()
