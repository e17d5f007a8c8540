"""Batches, observed by the calls of the encoder."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from entail.cancellation import check_cancelled
from entail.errors import EncoderError, ServingError
from entail.index.protocol import Hits
from entail.runtime.batching import BATCH, CHARS, Batcher, Call, Floats, Lane, current_call
from entail.runtime.searches import Depth, search_together
from tests.support.machine import until

QUERY, PREMISE, RAW = Lane("query"), Lane("premise"), Lane("query", normalised=False)
SOON = 10.0


class Gate:
    """Notes calls, which wait until it is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.calls: list[tuple[list[str], Any]] = []

    def enter(self, texts: Sequence[str], option: Any) -> None:
        self.calls.append((list(texts), option))
        self.entered.release()
        assert self.gate.wait(SOON)


class Slow(Gate):
    """An encoder that waits at its gate; a vector tells its text and lane."""

    def __call__(self, texts: Sequence[str], lane: Lane) -> Floats:
        self.enter(texts, lane)
        check_cancelled()
        if "bad" in texts:
            raise EncoderError("a text that breaks it")
        return vectors(texts, lane)


def vectors(texts: Sequence[str], lane: Lane) -> Floats:
    answer = [(len(text), sum(map(ord, text)), lane.tower == "query", lane.normalised) for text in texts]
    return np.array(answer, dtype=np.float32)


def held() -> tuple[Slow, Batcher[Lane, Floats]]:
    """Return an encoder that is at work on a first text, and its queue."""
    encoder, batcher = Slow(), Batcher[Lane, Floats]()
    batcher.submit(["first"], QUERY, encoder)
    assert encoder.entered.acquire(timeout=SOON)
    return encoder, batcher


def batches_of(requests: Sequence[tuple[Sequence[str], Lane]]) -> list[tuple[list[str], Lane]]:
    """Return the calls for requests that wait together, each of which gets its own vectors."""
    encoder, batcher = held()
    futures = [batcher.submit(texts, lane, encoder) for texts, lane in requests]
    assert batcher.waiting == sum(len(texts) for texts, _ in requests)
    encoder.gate.set()
    for future, (texts, lane) in zip(futures, requests, strict=True):
        np.testing.assert_array_equal(future.result(SOON), vectors(texts, lane))
    assert batcher.waiting == 0
    return encoder.calls[1:]


def test_waiting_requests_share_a_call_by_lane() -> None:
    same = ["same", "same", "other"]
    assert batches_of([(same, QUERY), (same, PREMISE), (same, RAW), (["more"], QUERY)]) == [
        ([*same, "more"], QUERY),
        (same, PREMISE),
        (same, RAW),
    ]


def test_batches_are_limited_in_texts_and_characters() -> None:
    many, long = ["a"] * (BATCH - 1), ["x" * CHARS]
    calls = batches_of([(many, QUERY), (["b", "c"], QUERY), (long, QUERY), (["d"], QUERY)])
    assert [texts for texts, _ in calls] == [[*many, "d"], ["b", "c"], long]


@given(
    st.lists(
        st.tuples(st.lists(st.text(max_size=6), min_size=1, max_size=40), st.sampled_from([QUERY, PREMISE])),
        max_size=12,
    )
)
def test_each_request_gets_its_own_vectors(requests: list[Any]) -> None:
    batches_of(requests)


def test_cancelled_requests_leave_the_queue_and_end_their_batch() -> None:
    encoder, batcher = held()
    requests = [batcher.submit([text], QUERY, encoder) for text in ("a", "b", "c")]
    assert requests[0].cancel()
    assert batcher.waiting == 2
    encoder.gate.set()
    assert len(requests[2].result(SOON)) == 1
    assert [texts for texts, _ in encoder.calls] == [["first"], ["b", "c"]]


def test_failing_text_fails_alone() -> None:
    encoder, batcher = held()
    good, bad, better = (batcher.submit([text], QUERY, encoder) for text in ("good", "bad", "better"))
    encoder.gate.set()
    assert len(good.result(SOON)) == len(better.result(SOON)) == 1
    with pytest.raises(EncoderError):
        bad.result(SOON)


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


SEARCHES = [(["2", "3"], 2), (["4"], 2), (["7"], 3), (["5", "6"], 2)]


class Words(Gate):
    """An index that waits at its gate, and finds for a query the premise at its number."""

    name = "words"

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        self.enter(queries, k)
        numbers = np.array([[int(query)] * k for query in queries])
        return Hits(numbers, numbers.astype(np.float32))


def test_searches_of_several_requests_share_a_call_by_depth() -> None:
    index = Words()

    def ask(queries: list[str], k: int) -> Hits:
        current_call.set(Call(SOON))
        return search_together(index, queries, Depth(k))  # type: ignore[arg-type]  # a fake

    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(ask, ["1"], 2)
        assert index.entered.acquire(timeout=SOON)
        requests = {(*queries, str(k)): pool.submit(ask, queries, k) for queries, k in SEARCHES}
        queue = ("entail_queue_texts", {"encoder": "search by words"})
        until(lambda: REGISTRY.get_sample_value(*queue) == len(SEARCHES) + 2)
        index.gate.set()
        hits = {key: future.result(SOON).positions.tolist() for key, future in requests.items()}
        assert first.result(SOON).scores.tolist() == [[1, 1]]
    assert hits == {(*queries, str(k)): [[int(query)] * k for query in queries] for queries, k in SEARCHES}
    calls = sorted((sorted(queries), k) for queries, k in index.calls[1:])
    assert calls == [(["2", "3", "4", "5", "6"], 2), (["7"], 3)]
