"""Process-wide cache of values that take time to make, each made once in a background thread."""

from __future__ import annotations

import contextlib
import gc
import logging
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import FunctionType, ModuleType
from typing import Final, Generic, TypeVar, cast

from entail.cancellation import cancelled_by
from entail.errors import EntailError
from entail.masking import mask_secrets
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
    """A value in the making: its progress, then the value of some bytes or the error, when `done` is set.

    Setting `cancelled` ends it at its next report of progress; it starts again once that is cleared.
    `since` and `used` are the times of its start and of its last use, in seconds since 1970.
    """

    progress: Progress | None = None
    value: _Value | None = None
    error: EntailError | None = None
    done: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)
    size: int = _ENTRY_BYTES
    since: float = field(default_factory=time.time)
    used: float = field(default_factory=time.time)

    def check(self) -> None:
        """Raise `EntailError` if the task is cancelled."""
        if self.cancelled.is_set():
            raise EntailError("it was cancelled")


class TaskCache:
    """Tasks by group and key, bounded in bytes.

    The least recently used values are evicted when all of them together exceed the budget. A task in progress
    is never evicted. Nor is the value that was just made, so one larger than the budget is still served.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tasks: OrderedDict[tuple[str, Hashable], Task[object]] = OrderedDict()
        """Group and key -> task, the least recently used first."""

    @cached_property
    def budget(self) -> int:
        """Bytes that the values may take, as `size_in_bytes` measures them."""
        from entail.runtime.machine import inspect_machine

        return min(LARGEST_BUDGET, inspect_machine().memory // 4)

    def evict(self, just_made: tuple[str, Hashable]) -> None:
        """Evict values until the others fit into the budget."""
        with self.lock:
            total = sum(task.size for task in self.tasks.values())
            for key, task in list(self.tasks.items()):
                if total <= self.budget:
                    break
                if key != just_made and task.done.is_set():
                    total -= task.size
                    del self.tasks[key]


CACHE: Final = TaskCache()
"""The process's task cache."""


@dataclass(frozen=True)
class TaskGroup:
    """Namespace of the process's task cache: the tasks of one kind.

    `failure` begins the message when a task raises anything but an `EntailError`.
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
        """Return the task of a key; start it if there is none.

        Args:
            key: Everything that the value depends on: revisions, corpus, trees.
            make: Makes the value in a thread of its own and reports progress.
            wait: Seconds to wait for the value.
            retry: Start it again if it failed.
        """
        full_key = (self.name, key)
        with CACHE.lock:
            task = CACHE.tasks.get(full_key)
            if task is None or (retry and task.error is not None and not task.cancelled.is_set()):
                task = CACHE.tasks[full_key] = Task()
                name, args = f"task {full_key!r:.40}", (full_key, task, make)
                threading.Thread(target=self._run, args=args, name=name, daemon=True).start()
            CACHE.tasks.move_to_end(full_key)
            task.used = time.time()
        task.done.wait(wait)
        return cast(Task[_Value], task)  # a key stands for one kind of value

    def peek(self, key: Hashable) -> Task[object] | None:
        """Return the task of a key, None if there is none; start nothing."""
        with CACHE.lock:
            return CACHE.tasks.get((self.name, key))

    def tasks(self) -> dict[Hashable, Task[object]]:
        """Return the tasks of this group by key, the least recently used first."""
        with CACHE.lock:
            return {key: task for (name, key), task in CACHE.tasks.items() if name == self.name}

    def drop(self, *keys: Hashable) -> None:
        """Remove tasks, so that they are made again; a thread that makes one goes on."""
        with CACHE.lock:
            for key in keys:
                CACHE.tasks.pop((self.name, key), None)

    def drop_failed(self) -> None:
        """Remove the tasks that failed."""
        self.drop(*(key for key, task in self.tasks().items() if task.error is not None))

    def _run(
        self, key: tuple[str, Hashable], task: Task[object], make: Callable[[ProgressCallback], object]
    ) -> None:
        try:
            with cancelled_by(task.check):
                task.value = make(partial(setattr, task, "progress"))
            with contextlib.suppress(Exception):  # an object that cannot be measured is served all the same
                task.size = _ENTRY_BYTES + size_in_bytes(task.value)
        except EntailError as error:
            task.error = error
        except Exception as error:
            # Whatever it was (a full disk, a GPU without room), the page shows it and offers a retry.
            _log.exception("%s", self.failure)
            task.error = EntailError(f"{self.failure} ({type(error).__name__}: {mask_secrets(str(error))})")
        finally:
            # Before a waiting thread goes on: a later use is not mistaken for an earlier one.
            CACHE.evict(key)
            task.done.set()


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


def size_in_bytes(value: object, *, without: Sequence[object] = ()) -> int:
    """Return an estimate of the bytes that a value takes.

    An object that states its size is believed: `nbytes` of arrays and tensors, or `size_bytes`. Of other
    objects all that they refer to is added up, each object once. Of a long container `_SAMPLE` elements stand
    for the others. Modules and classes count nothing, of a function counts what it closes over. What several
    values share, such as the base of two adapters, counts for each of them, but for the objects of `without`.

    >>> import numpy as np
    >>> size_in_bytes(np.zeros((10, 4), dtype=np.float32))
    160
    """
    return round(_measure(value, set(map(id, without))))


def _measure(value: object, visited_ids: set[int]) -> float:
    if id(value) in visited_ids or isinstance(value, (type, ModuleType)):
        return 0
    visited_ids.add(id(value))
    for name in ("nbytes", "size_bytes"):
        stated = getattr(value, name, None)
        if isinstance(stated, int):
            return stated
    if isinstance(value, FunctionType):
        parts: list[object] = list(value.__closure__ or ())
    else:
        parts = gc.get_referents(value)
    share = max(1.0, len(parts) / _SAMPLE)
    own: float = sys.getsizeof(value, _ENTRY_BYTES)
    return own + share * sum(_measure(part, visited_ids) for part in parts[:_SAMPLE])
