"""The task cache: made once, shared, bounded in bytes."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest

from entail.errors import EntailError
from entail.progress import Progress, ProgressCallback
from entail.ui.shared.tasks import TaskCache, TaskGroup, finish, size_in_bytes, task_cache

LARGE = 10**9


@dataclass(frozen=True)
class Sized:
    """A value that states its size."""

    size_bytes: int


def test_a_value_is_made_once() -> None:
    cache, made = TaskCache(LARGE), []
    assert cache.peek("a") is None
    tasks = [cache.get_or_start("a", lambda _: made.append(1) or "value", wait=5) for _ in range(3)]
    assert [task.value for task in tasks] == ["value"] * 3
    assert made == [1]
    assert cache.peek("a") is tasks[0]


def test_progress_is_seen_without_waiting() -> None:
    cache, go, reported = TaskCache(LARGE), threading.Event(), threading.Event()

    def make(report: ProgressCallback) -> int:
        report(Progress(1, 2, 0.1, "ranking"))
        reported.set()
        go.wait(5)
        return 3

    task = cache.get_or_start("a", make, wait=0)
    assert reported.wait(5)
    assert task.value is None
    assert task.progress is not None
    assert task.progress.fraction == 0.5
    go.set()
    assert cache.get_or_start("a", make, wait=5).value == 3


def test_a_failed_task_keeps_its_error_and_is_retried() -> None:
    cache, answers = TaskCache(LARGE), iter([EntailError("no vectors"), ValueError("odd"), None])

    def make(_: ProgressCallback) -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "fine"

    failed = cache.get_or_start("a", make, wait=5)
    assert str(failed.error) == "no vectors"
    assert cache.get_or_start("a", make, retry=False) is failed
    unforeseen = cache.get_or_start("a", make, failure="no luck", wait=5).error
    assert isinstance(unforeseen, EntailError)
    assert "no luck" in str(unforeseen)
    assert "ValueError: odd" in str(unforeseen)
    assert cache.get_or_start("a", make, wait=5).value == "fine"


def keys(cache: TaskCache) -> list[object]:
    return [key for key, _ in cache.items()]


def test_the_least_recently_used_values_are_evicted_beyond_the_budget() -> None:
    cache = TaskCache(100_000)
    for key in ("a", "b", "a", "c"):
        cache.get_or_start(key, lambda _: Sized(40_000), wait=5)
    assert keys(cache) == ["a", "c"]  # a was used after b
    cache.get_or_start("small", lambda _: Sized(1), wait=5)
    assert keys(cache) == ["a", "c", "small"]


def test_a_value_larger_than_the_budget_is_served_until_the_next() -> None:
    cache = TaskCache(1000)
    large = cache.get_or_start("large", lambda _: Sized(10**6), wait=5)
    assert keys(cache) == ["large"]
    assert cache.get_or_start("large", lambda _: Sized(1), wait=5) is large
    cache.get_or_start("next", lambda _: Sized(1), wait=5)
    assert keys(cache) == ["next"]


def test_a_task_in_progress_is_not_evicted() -> None:
    cache, go = TaskCache(1000), threading.Event()
    slow = cache.get_or_start("slow", lambda _: go.wait(5), wait=0)
    cache.get_or_start("large", lambda _: Sized(10**6), wait=5)
    assert cache.peek("slow") is slow
    go.set()
    assert finish(slow) is True


def test_groups_share_the_cache_and_not_their_keys() -> None:
    task_cache.clear()
    one, other = TaskGroup("one", failure="no"), TaskGroup("other", failure="no")
    assert one.get_or_start("a", lambda _: 1, wait=5).value == 1
    assert other.get_or_start("a", lambda _: 2, wait=5).value == 2
    assert len(task_cache().items()) == 2
    one.drop("a")
    assert one.peek("a") is None
    assert [task.value for task in other.tasks()] == [2]
    other.drop_where(lambda key: key == "a")
    assert not other.tasks()


def test_failed_tasks_of_a_group_can_be_dropped() -> None:
    task_cache.clear()
    group = TaskGroup("one", failure="no")

    def fail(_: ProgressCallback) -> None:
        raise EntailError("no luck")

    with pytest.raises(EntailError, match="no luck"):
        finish(group.get_or_start("bad", fail))
    group.get_or_start("good", lambda _: 1, wait=5)
    group.drop_failed()
    assert [task.value for task in group.tasks()] == [1]


def test_threads_that_run_no_page_use_the_same_cache() -> None:
    task_cache.clear()
    group = TaskGroup("one", failure="no")
    group.get_or_start("outer", lambda _: finish(group.get_or_start("inner", lambda _: 7)), wait=5)
    assert [task.value for task in group.tasks()] == [7, 7]


def test_sizes_are_close_to_what_is_held() -> None:
    vectors = np.zeros((1000, 384), dtype=np.float32)
    assert size_in_bytes(vectors) == vectors.nbytes
    assert size_in_bytes([vectors, vectors]) < 1.1 * vectors.nbytes  # one object counts once
    assert size_in_bytes({"rows": vectors, "about": Sized(50)}) == pytest.approx(vectors.nbytes, rel=0.01)
    rows = ["x" * 1000 + str(n) for n in range(10_000)]
    assert size_in_bytes(rows) == pytest.approx(10_000 * 1060, rel=0.1)
