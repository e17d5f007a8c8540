"""Progress of long tasks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from entail.cancellation import check_cancelled


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a long task: items done of a total, seconds so far, and words for both.

    >>> str(Progress(1_500_000, 3_000_000, 1.0, "reading", "bytes"))
    'reading: 1.5 of 3.0 MB, 1.5 MB/s, 0:01 left'
    """

    done: int
    total: int
    seconds: float
    what: str
    unit: str = "items"

    @property
    def fraction(self) -> float:
        """Share done, 0 to 1; 1 when there is nothing to do."""
        return self.done / self.total if self.total else 1.0

    @property
    def rate(self) -> float:
        """Items a second so far, 0 before the first."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the rate so far, None before there is one."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None

    def __str__(self) -> str:
        left = self.seconds_left
        scale, unit, digits = (1e6, "MB", 1) if self.unit == "bytes" else (1, self.unit, 0)
        tail = f", {self.rate / scale:,.{digits}f} {unit}/s, {_clock(left)} left" if left is not None else ""
        done, total = (f"{number / scale:,.{digits}f}" for number in (self.done, self.total))
        return f"{self.what}: {done} of {total} {unit}{tail}"


ProgressCallback = Callable[[Progress], None]


class Meter:
    """Counts items and tells a callback, at most every `interval` seconds and at the end.

    A task that is cancelled ends here (`check_cancelled`).

    >>> seen = []
    >>> meter = Meter(3, "encoding", unit="sentences", report=seen.append, interval=0)
    >>> meter.add(2); meter.add(1)
    >>> [p.done for p in seen]
    [2, 3]
    """

    def __init__(
        self,
        total: int,
        what: str,
        *,
        unit: str = "items",
        report: ProgressCallback | None = None,
        interval: float = 0.2,
    ) -> None:
        self._total, self._what, self._unit = total, what, unit
        self._report, self._interval = report, interval
        self._done = 0
        self._start = time.perf_counter()
        self._last = float("-inf")

    def add(self, count: int) -> None:
        """Count `count` more items as done; raise as `check_cancelled`."""
        check_cancelled()
        self._done += count
        now = time.perf_counter()
        if self._report and (self._done >= self._total or now - self._last >= self._interval):
            self._last = now
            self._report(Progress(self._done, self._total, now - self._start, self._what, self._unit))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
