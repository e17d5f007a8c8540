"""Comparisons in the making: computed once, in a thread of their own, for all sessions."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

import streamlit as st

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
    """Values by what they are made of, each made once, in a thread of its own.

    At most `capacity` are kept; what was used least recently goes first.
    """

    def __init__(self, capacity: int = 16) -> None:
        self._capacity = capacity
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
                    target=_run, args=(work, make), name=f"compare {place!r:.40}", daemon=True
                ).start()
            self._works.move_to_end(place)
            while len(self._works) > self._capacity:
                self._works.popitem(last=False)
        work.done.wait(wait)
        return cast(Work[_Value], work)


def _run(work: Work[object], make: Callable[[ProgressCallback], object]) -> None:
    def report(progress: Progress) -> None:
        work.progress = progress

    try:
        work.value = make(report)
    except EntailError as error:
        work.error = error
    except Exception as error:
        # Whatever it was, who waits is told and may try again.
        _log.exception("a comparison could not be made")
        work.error = EntailError(f"the comparison could not be made ({type(error).__name__}: {error})")
    finally:
        work.done.set()


@st.cache_resource(show_spinner=False)
def works() -> Works:
    """Return the process's comparisons."""
    return Works()
