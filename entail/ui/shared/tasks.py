"""Process-wide cache of values that take time to make, each made once in a background thread."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from types import FunctionType, MethodType, ModuleType
from typing import Final, Generic, TypeVar, cast

import streamlit as st

from entail.errors import EntailError
from entail.progress import Progress, ProgressCallback

_log = logging.getLogger(__name__)
_Value = TypeVar("_Value")

LARGEST_BUDGET: Final = 8 * 2**30
"""Most bytes that the process's cache takes; a quarter of the machine's memory where that is less."""

_ENTRY_BYTES: Final = 1024
"""Size of a task without a value: its key, its lock and its place in the cache."""

_SAMPLE: Final = 64
"""Elements of a container that are measured; the others are taken to be as large on average."""


@dataclass
class Task(Generic[_Value]):
    """A value in the making: its progress, then the value or the error.

    Attributes:
        done: Set when there is a value or an error.
        size: Bytes that the value takes in the cache.
    """

    progress: Progress | None = None
    value: _Value | None = None
    error: EntailError | None = None
    done: threading.Event = field(default_factory=threading.Event)
    size: int = _ENTRY_BYTES


class TaskCache:
    """Tasks by key, bounded in bytes.

    The least recently used values are evicted when all of them together exceed the budget. A task in progress
    is never evicted. Nor is the value that was just made, so one larger than the budget is still served.

    Args:
        budget: Bytes that the values may take, as `size_in_bytes` measures them.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._tasks: OrderedDict[Hashable, Task[object]] = OrderedDict()

    def get_or_start(
        self,
        key: Hashable,
        make: Callable[[ProgressCallback], _Value],
        *,
        failure: str = "the task failed",
        wait: float = 2.5,
        retry: bool = True,
    ) -> Task[_Value]:
        """Return the task of a key; start it if there is none.

        Args:
            key: Everything that the value depends on: revisions, corpus, trees.
            make: Makes the value in a thread of its own and reports progress.
            failure: Start of the message when `make` raises anything but an `EntailError`.
            wait: Seconds to wait for the value.
            retry: Start it again if it failed.
        """
        with self._lock:
            task = self._tasks.get(key)
            if task is None or (retry and task.error is not None):
                task = self._tasks[key] = Task()
                threading.Thread(
                    target=self._run, args=(key, task, make, failure), name=f"task {key!r:.40}", daemon=True
                ).start()
            self._tasks.move_to_end(key)
        task.done.wait(wait)
        return cast(Task[_Value], task)  # a key stands for one kind of value

    def peek(self, key: Hashable) -> Task[object] | None:
        """Return the task of a key, None if there is none; start nothing."""
        with self._lock:
            return self._tasks.get(key)

    def drop(self, matches: Callable[[Hashable, Task[object]], bool]) -> None:
        """Remove the tasks that match; a thread that makes one goes on."""
        with self._lock:
            for key in [key for key, task in self._tasks.items() if matches(key, task)]:
                del self._tasks[key]

    def items(self) -> list[tuple[Hashable, Task[object]]]:
        """Return all keys and tasks, the least recently used first."""
        with self._lock:
            return list(self._tasks.items())

    def _run(
        self, key: Hashable, task: Task[object], make: Callable[[ProgressCallback], object], failure: str
    ) -> None:
        def report(progress: Progress) -> None:
            task.progress = progress

        try:
            task.value = make(report)
            with contextlib.suppress(Exception):  # an object that cannot be measured is served all the same
                task.size = _ENTRY_BYTES + size_in_bytes(task.value)
        except EntailError as error:
            task.error = error
        except Exception as error:
            # Whatever it was (a full disk, a GPU without room), the page shows it and offers a retry.
            _log.exception("%s", failure)
            task.error = EntailError(f"{failure} ({type(error).__name__}: {error})")
        finally:
            self._evict(key)  # before anybody goes on, so that a later use is not mistaken for an earlier one
            task.done.set()

    def _evict(self, just_made: Hashable) -> None:
        with self._lock:
            total = sum(task.size for task in self._tasks.values())
            for key, task in list(self._tasks.items()):
                if total <= self._budget:
                    break
                if key != just_made and task.done.is_set():
                    total -= task.size
                    del self._tasks[key]


@st.cache_resource(show_spinner=False)
def task_cache() -> TaskCache:
    """Return the process's task cache; works in threads that run no page, too."""
    from entail.operations.doctor import inspect_machine

    return TaskCache(min(LARGEST_BUDGET, inspect_machine().memory // 4))


@dataclass(frozen=True)
class TaskGroup:
    """Namespace of the process's task cache: the tasks of one kind.

    Attributes:
        name: Name, part of every key.
        failure: Start of the message when a task fails in an unforeseen way.
    """

    name: str
    failure: str

    def get_or_start(
        self,
        key: Hashable,
        make: Callable[[ProgressCallback], _Value],
        *,
        wait: float = 2.5,
        retry: bool = True,
    ) -> Task[_Value]:
        """Return the task of a key of this group; see `TaskCache.get_or_start`."""
        return task_cache().get_or_start((self.name, key), make, failure=self.failure, wait=wait, retry=retry)

    def peek(self, key: Hashable) -> Task[object] | None:
        """Return the task of a key, None if there is none; start nothing."""
        return task_cache().peek((self.name, key))

    def drop(self, key: Hashable) -> None:
        """Remove the task of a key, so that it is made anew."""
        self.drop_where(lambda known: known == key)

    def drop_where(self, matches: Callable[[Hashable], bool]) -> None:
        """Remove the tasks whose keys match."""
        task_cache().drop(
            lambda known, _: self._owns(known) and matches(cast(tuple[str, Hashable], known)[1])
        )

    def drop_failed(self) -> None:
        """Remove the tasks that failed."""
        task_cache().drop(lambda known, task: self._owns(known) and task.error is not None)

    def tasks(self) -> list[Task[object]]:
        """Return the tasks of this group, the least recently used first."""
        return [task for key, task in task_cache().items() if self._owns(key)]

    def _owns(self, key: Hashable) -> bool:
        return isinstance(key, tuple) and key[0] == self.name


COMPARISONS = TaskGroup("comparisons", failure="the comparison failed")
"""Measures of two retrievers, or of one, over many trees, claims or pairs."""


def failed(error: EntailError) -> Task[_Value]:
    """Return a task that failed before it started."""
    task: Task[_Value] = Task(error=error)
    task.done.set()
    return task


def finish(task: Task[_Value]) -> _Value:
    """Return the value of a task and wait as long as it takes; for threads that run no page.

    Raises:
        EntailError: If the task failed.
    """
    task.done.wait()
    if task.error is not None:
        raise task.error
    return cast(_Value, task.value)


def size_in_bytes(value: object) -> int:
    """Return an estimate of the bytes that a value takes.

    An object that states its size is believed: `nbytes` of arrays and tensors, or `size_bytes`. Of other
    objects the attributes and elements are added up, each object once. Of a long container `_SAMPLE` elements
    stand for the others. Modules, classes and functions count nothing. What several values share, such as the
    base of two adapters, counts for each of them.

    >>> import numpy as np
    >>> size_in_bytes(np.zeros((10, 4), dtype=np.float32))
    160
    """
    return round(_measure(value, set()))


def _measure(value: object, seen: set[int]) -> float:
    if id(value) in seen or isinstance(value, (type, ModuleType, FunctionType, MethodType)):
        return 0
    seen.add(id(value))
    for name in ("nbytes", "size_bytes"):
        stated = getattr(value, name, None)
        if isinstance(stated, int):
            return stated
    total: float = sys.getsizeof(value, _ENTRY_BYTES)
    if isinstance(value, (str, bytes, bytearray)):
        return total
    if isinstance(value, Mapping):
        total += _measure_all(value.keys(), seen) + _measure_all(value.values(), seen)
    elif isinstance(value, (Sequence, Set)):
        total += _measure_all(value, seen)
    slots = [getattr(value, name, None) for kind in type(value).__mro__ for name in _slots(kind)]
    return total + sum(_measure(one, seen) for one in (*getattr(value, "__dict__", {}).values(), *slots))


def _measure_all(values: Collection[object], seen: set[int]) -> float:
    sample = list(islice(values, _SAMPLE))
    return sum(_measure(one, seen) for one in sample) * len(values) / len(sample) if sample else 0


def _slots(kind: type) -> tuple[str, ...]:
    names = kind.__dict__.get("__slots__", ())
    return (names,) if isinstance(names, str) else tuple(names)
