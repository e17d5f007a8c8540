"""Values that take time to make, each made once in a background thread and kept in the process's cache."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

from entail.cancellation import cancelled_by
from entail.errors import EntailError
from entail.masking import mask_secrets
from entail.memory import CACHE, ENTRY_BYTES, Entry, size_in_bytes
from entail.progress import Progress, ProgressCallback

_log = logging.getLogger(__name__)
_Value = TypeVar("_Value")


@dataclass
class Task(Entry[_Value]):
    """A value in the making: its progress, then the value or the error, when `done` is set.

    Setting `cancelled` ends it at its next report of progress; it starts again once that is cleared. A task
    in progress is not evicted.
    """

    progress: Progress | None = None
    error: EntailError | None = None
    done: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def is_evictable(self) -> bool:
        """Whether it is done."""
        return self.done.is_set()

    def check(self) -> None:
        """Raise `EntailError` if the task is cancelled."""
        if self.cancelled.is_set():
            raise EntailError("it was cancelled")


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
            task = cast("Task[_Value] | None", CACHE.get(*full_key))
            if task is None or (retry and task.error is not None and not task.cancelled.is_set()):
                task = Task()
                CACHE.entries[full_key] = cast(Entry[object], task)
                name, args = f"task {full_key!r:.40}", (full_key, task, make)
                threading.Thread(target=self._run, args=args, name=name, daemon=True).start()
        task.done.wait(wait)
        return task  # a key stands for one kind of value

    def peek(self, key: Hashable) -> Task[object] | None:
        """Return the task of a key, None if there is none; start nothing."""
        with CACHE.lock:
            return cast("Task[object] | None", CACHE.entries.get((self.name, key)))

    def tasks(self) -> dict[Hashable, Task[object]]:
        """Return the tasks of this group by key, the least recently used first."""
        with CACHE.lock:
            entries = ((key, entry) for (name, key), entry in CACHE.entries.items() if name == self.name)
            return {key: cast(Task[object], entry) for key, entry in entries}

    def drop(self, *keys: Hashable) -> None:
        """Remove tasks, so that they are made again; a thread that makes one goes on."""
        with CACHE.lock:
            for key in keys:
                CACHE.entries.pop((self.name, key), None)

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
                task.size = ENTRY_BYTES + size_in_bytes(task.value)
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
