"""The task cache: made once, shared, bounded in bytes."""

import gc
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from entail.errors import EntailError
from entail.memory import CACHE, Cache, size_in_bytes
from entail.progress import Meter, Progress, ProgressCallback
from entail.runtime.tasks import Task, TaskGroup, finish

GROUP = TaskGroup("one", failure="no luck")


@dataclass(frozen=True)
class Sized:
    """A value that states its size."""

    size_bytes: int


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Empty the cache; return a function that gives it another budget."""

    def start(budget: int) -> None:
        monkeypatch.setattr(CACHE, "budget", budget)
        CACHE.entries.clear()

    start(10**9)
    return start


def sized(key: str, size: int) -> Task[Sized]:
    return GROUP.get_or_start(key, lambda _: Sized(size), wait=5)


def keys() -> list[object]:
    return list(GROUP.tasks())


def test_a_value_is_made_once() -> None:
    calls: list[int] = []
    assert GROUP.peek("a") is None
    tasks = [GROUP.get_or_start("a", lambda _: calls.append(1) or "value", wait=5) for _ in range(3)]
    assert [task.value for task in tasks] == ["value"] * 3
    assert calls == [1]
    assert GROUP.peek("a") is tasks[0]


def test_a_cancelled_task_ends_and_starts_again_on_request() -> None:
    def make(report: ProgressCallback) -> int:
        meter = Meter(10**6, "encoding", report=report, interval=0)
        while True:
            meter.add(1)

    task = GROUP.get_or_start("endless", make, wait=0)
    task.cancelled.set()
    assert task.done.wait(5)
    assert isinstance(task.error, EntailError)
    assert GROUP.get_or_start("endless", make, wait=0) is task
    task.cancelled.clear()
    again = GROUP.get_or_start("endless", make, wait=0)
    assert again is not task
    again.cancelled.set()
    assert again.done.wait(5)


def test_progress_is_seen_without_waiting() -> None:
    go, reported = threading.Event(), threading.Event()

    def make(report: ProgressCallback) -> int:
        report(Progress(1, 2, 0.1, "ranking"))
        reported.set()
        go.wait(5)
        return 3

    task = GROUP.get_or_start("a", make, wait=0)
    assert reported.wait(5)
    assert task.value is None
    assert task.progress is not None
    assert task.progress.fraction == 0.5
    go.set()
    assert GROUP.get_or_start("a", make, wait=5).value == 3


def test_a_failed_task_keeps_its_error_and_is_retried() -> None:
    answers = iter([EntailError("no vectors"), ValueError("odd"), None])

    def make(_: ProgressCallback) -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "fine"

    failed = GROUP.get_or_start("a", make, wait=5)
    with pytest.raises(EntailError, match="no vectors"):
        finish(failed)
    assert GROUP.get_or_start("a", make, retry=False) is failed
    unforeseen = GROUP.get_or_start("a", make, wait=5).error
    assert isinstance(unforeseen, EntailError)
    assert "no luck" in str(unforeseen)
    assert "ValueError: odd" in str(unforeseen)
    sized("good", 1)
    GROUP.drop_failed()
    assert keys() == ["good"]
    assert GROUP.get_or_start("a", make, wait=5).value == "fine"


def test_the_least_recently_used_values_are_evicted_beyond_the_budget(limit: Callable[[int], None]) -> None:
    limit(100_000)
    for key in ("a", "b", "a", "c"):
        sized(key, 40_000)
    assert keys() == ["a", "c"]  # a was used after b
    sized("small", 1)
    assert keys() == ["a", "c", "small"]


def test_a_value_larger_than_the_budget_stays_until_another_as_large(limit: Callable[[int], None]) -> None:
    limit(100_000)
    large = sized("large", 10**6)
    for key in ("a", "b", "c"):
        sized(key, 40_000)
    assert keys() == ["large", "b", "c"]
    assert sized("large", 1) is large
    sized("next", 10**6)
    assert keys() == ["b", "c", "next"]


def test_a_task_in_progress_is_not_evicted(limit: Callable[[int], None]) -> None:
    limit(1000)
    go = threading.Event()
    slow = GROUP.get_or_start("slow", lambda _: go.wait(5), wait=0)
    sized("large", 10**6)
    assert GROUP.peek("slow") is slow
    go.set()
    assert finish(slow) is True


def test_groups_share_the_cache_and_not_their_keys() -> None:
    other = TaskGroup("other", failure="no")
    sized("a", 1)
    assert other.get_or_start("a", lambda _: 2, wait=5).value == 2
    assert len(CACHE.entries) == 2
    GROUP.drop("a", "b")
    assert GROUP.peek("a") is None
    assert [task.value for task in other.tasks().values()] == [2]


def test_sizes_are_close_to_what_is_held() -> None:
    vectors = np.zeros((1000, 384), dtype=np.float32)
    assert size_in_bytes(vectors) == vectors.nbytes
    assert size_in_bytes([vectors, vectors]) < 1.1 * vectors.nbytes  # one object counts once
    assert size_in_bytes([lambda: vectors]) == pytest.approx(vectors.nbytes, rel=0.1)
    assert size_in_bytes([vectors, 1], without=[vectors]) < 1_000
    assert size_in_bytes({"rows": vectors, "about": Sized(50)}) == pytest.approx(vectors.nbytes, rel=0.01)
    rows = ["x" * 1000 + str(n) for n in range(10_000)]
    assert size_in_bytes(rows) == pytest.approx(10_000 * 1060, rel=0.1)


def test_values_of_all_kinds_share_the_bound(limit: Callable[[int], None]) -> None:
    limit(100_000)
    first, second = Cache[str, Sized]("first"), Cache[str, Sized]("first")
    first.put("a", Sized(40_000))
    second.put("a", Sized(30_000))
    assert first.get("a") == Sized(40_000), "two owners share no keys"
    sized("task", 40_000)
    assert second.get("a") is None, "the least recently used of all"
    assert [key for key, _ in first.items()] == ["a"]
    usage = {row.kind: row for row in CACHE.usage()}
    assert usage["first"].bytes == pytest.approx(40_000, abs=2_000)
    assert (usage["first"].entries, usage["first"].hits, usage["first"].misses) == (1, 1, 1)
    assert usage["one"].entries == 1
    del first
    gc.collect()
    sized("other", 1)
    assert "first" not in {row.kind for row in CACHE.usage()}


@dataclass
class Growing:
    """A value that is loaded and used after it was put."""

    size_bytes: int = 0
    used: float = 0.0


def test_a_value_that_grows_counts_as_it_is(limit: Callable[[int], None]) -> None:
    limit(100_000)
    cache = Cache[str, Growing]("growing")
    cache.put("a", value := Growing(), size=0)
    sized("task", 40_000)
    value.size_bytes, value.used = 90_000, time.time() + 1
    sized("small", 1)
    assert keys() == ["small"], "used later than the task"
    assert cache.get("a") is value
