"""What takes its time, made once for all sessions, in a thread of its own: indexes, comparisons."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

from entail.errors import EntailError
from entail.progress import Progress, ProgressCallback

_log = logging.getLogger(__name__)
_Value = TypeVar("_Value")


@dataclass
class Work(Generic[_Value]):
    """Something in the making: progress to show, then the value or what went wrong."""

    progress: Progress | None = None
    value: _Value | None = None
    error: EntailError | None = None
    done: threading.Event = field(default_factory=threading.Event)


class Works:
    """Values by what they are made of, each made once.

    At most `capacity` are kept; what was used least recently goes first.

    Args:
        capacity: Values kept.
        failure: What is said of one that could not be made, before the reason.
    """

    def __init__(self, capacity: int, *, failure: str) -> None:
        self._capacity = capacity
        self._failure = failure
        self._lock = threading.Lock()
        self._works: OrderedDict[Hashable, Work[object]] = OrderedDict()

    def take(
        self, place: Hashable, make: Callable[[ProgressCallback], _Value], *, wait: float = 2.5
    ) -> Work[_Value]:
        """Return the work at a place, begun now if nobody did, waiting up to `wait` seconds for its end.

        The place names everything that the value depends on: revisions, corpus, trees. A work that failed
        is begun again.
        """
        with self._lock:
            work = self._works.get(place)
            if work is None or work.error is not None:
                work = self._works[place] = Work()
                threading.Thread(
                    target=self._run, args=(work, make), name=f"making {place!r:.40}", daemon=True
                ).start()
            self._works.move_to_end(place)
            while len(self._works) > self._capacity:
                self._works.popitem(last=False)
        work.done.wait(wait)
        return cast(Work[_Value], work)  # whoever names a place makes one kind of value there

    def look(self, place: Hashable) -> Work[object] | None:
        """Return the work at a place, None if nobody began it or it went; begins nothing."""
        with self._lock:
            return self._works.get(place)

    def drop(self, places: Callable[[Hashable], bool]) -> None:
        """Forget the works at some places; who holds one goes on with it."""
        with self._lock:
            for place in [place for place in self._works if places(place)]:
                del self._works[place]

    def drop_failed(self) -> None:
        """Forget the works that came to nothing."""
        with self._lock:
            for place in [place for place, work in self._works.items() if work.error is not None]:
                del self._works[place]

    def made(self) -> list[object]:
        """Return the values that are there."""
        with self._lock:
            works = list(self._works.values())
        return [work.value for work in works if work.value is not None]

    def _run(self, work: Work[object], make: Callable[[ProgressCallback], object]) -> None:
        def report(progress: Progress) -> None:
            work.progress = progress

        try:
            work.value = make(report)
        except EntailError as error:
            work.error = error
        except Exception as error:
            # Whatever it was (a full disk, a GPU without room), who waits is told and may try again.
            _log.exception("%s", self._failure)
            work.error = EntailError(f"{self._failure} ({type(error).__name__}: {error})")
        finally:
            work.done.set()


def failed(error: EntailError) -> Work[_Value]:
    """Return a work that came to nothing before it began."""
    work: Work[_Value] = Work(error=error)
    work.done.set()
    return work
