"""What a training tells while it runs, one JSON object a line, appended only; and the same for charts.

===============  ======================================================================================
`kind`           what else stands in the line, beside `at` (seconds since 1970) and `attempt`
===============  ======================================================================================
`begin`          `step`: none yet; a resumed training tells again what came after its checkpoint
`step`           `step`, `steps`, `epoch`, `learning_rate`, `terms` (means over `over` steps: `loss`, its
                 terms, `gradient_norm`, `active`, `variance`, `drift` ... as the method has them), `memory`
                 (bytes: `resident`, `peak`, `gpu`, `gpu_peak`), `rate` (steps a second), `seconds_left`
`evaluation`     `step`, `epoch`, `score`, `figures`
`warning`        `step`, `text`
`end`            `state`, `ending`, `what`
===============  ======================================================================================

A line that a killed process left half written is passed over.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.training.task import Event

EVERY = 1.0
"""Seconds between two lines of steps: each tells the means over the steps since the last."""

_READ_AT_ONCE = 1 << 22


class EventWriter:
    """Appends what a training tells to a file; a file that cannot be written keeps it from nothing.

    Args:
        file: The job's.
        attempt: Which run of the job.
        every: Seconds between two lines of steps.
    """

    def __init__(self, file: Path, *, attempt: int, every: float = EVERY) -> None:
        self._file, self._attempt, self._every = file, attempt, every
        self._first: tuple[int, float] | None = None
        self._last = float("-inf")
        self._sums: dict[str, float] = {}
        self._over = 0
        self._torn = file.exists() and not _ends_whole(file)
        self.write("begin")

    def __call__(self, event: Event) -> None:
        """Take in what the training loop tells."""
        if event.warning:
            self.write("warning", step=event.step, text=event.warning)
        if event.evaluated is not None:
            found = event.evaluated
            self.write(
                "evaluation",
                step=event.step,
                epoch=found.epoch,
                score=found.score,
                figures=dict(found.figures),
            )
        elif event.terms:
            self._step(event)

    def write(self, kind: str, **fields: object) -> None:
        """Append one line."""
        line = json.dumps(
            {"kind": kind, "at": round(time.time(), 3), "attempt": self._attempt, **_finite(fields)}
        )
        # A full disk ends the training where its checkpoint cannot be written, with words.
        with contextlib.suppress(OSError), self._file.open("a", encoding="utf-8") as file:
            file.write(("\n" if self._torn else "") + line + "\n")
            self._torn = False

    def _step(self, event: Event) -> None:
        now = time.perf_counter()
        if self._first is None:
            self._first = (event.step - 1, now)
        for name, value in event.terms.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        self._over += 1
        if now - self._last < self._every and event.step < event.steps:
            return
        begun, since = self._first
        done, spent = event.step - begun, now - since
        rate = (done - 1) / spent if done > 1 and spent > 0 else None
        self.write(
            "step",
            step=event.step,
            steps=event.steps,
            epoch=event.epoch,
            learning_rate=event.learning_rate,
            terms={name: total / self._over for name, total in self._sums.items()},
            over=self._over,
            memory=memory(),
            rate=rate,
            seconds_left=(event.steps - event.step) / rate if rate else None,
        )
        self._sums, self._over, self._last = {}, 0, now


@dataclass(frozen=True)
class Told:
    """Lines of an event file.

    Attributes:
        events: The whole lines, in order.
        offset: Where to go on reading.
    """

    events: tuple[Mapping[str, Any], ...]
    offset: int


class EventFile:
    """An event file that many look at, again and again: each line is read once, whoever asks.

    Of a long training every second of the steps goes when there are too many to draw, so that what is
    remembered does not grow with it.

    Args:
        file: The job's.
        most: Steps that are remembered at most.
    """

    def __init__(self, file: Path, *, most: int = 4000) -> None:
        self._file, self._most = file, most
        self._kept: list[Mapping[str, Any]] = []
        self._offset = 0
        self._lock = threading.Lock()
        self._drawn: tuple[int, int, list[dict[str, Any]]] | None = None

    def events(self) -> list[Mapping[str, Any]]:
        """Return what is in force, see `in_force`, up to now."""
        with self._lock:
            return list(self._up_to_now())

    def points(self, *, most: int = 500) -> list[dict[str, Any]]:
        """Return `points` of what is in force up to now; the same list again where nothing was told since."""
        with self._lock:
            kept = self._up_to_now()
            if self._drawn is None or self._drawn[:2] != (self._offset, most):
                self._drawn = (self._offset, most, points(kept, most=most))
            return self._drawn[2]

    def _up_to_now(self) -> list[Mapping[str, Any]]:
        while (told := read_events(self._file, after=self._offset)).offset > self._offset:
            self._offset = told.offset
            self._kept = in_force([*self._kept, *told.events])
            steps = [event["step"] for event in self._kept if event["kind"] == "step"]
            if len(steps) > self._most:
                gone = set(steps[-2::-2])
                self._kept = [e for e in self._kept if e["kind"] != "step" or e["step"] not in gone]
        return self._kept


def read_events(file: Path, *, after: int = 0) -> Told:
    """Return the lines after an offset, `Told.offset` of an earlier answer; none where there is no file."""
    try:
        with file.open("rb") as opened:
            opened.seek(after)
            content = opened.read(_READ_AT_ONCE)
    except OSError:
        return Told((), after)
    whole = content[: content.rfind(b"\n") + 1]
    return Told(tuple(_parsed(whole.splitlines())), after + len(whole))


def in_force(events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the events without those that a resumed training told again.

    >>> told = [{"kind": "step", "step": s} for s in (1, 2, 3, 2, 3, 4)]
    >>> [event["step"] for event in in_force(told)]
    [1, 2, 3, 4]
    """
    kept: list[Mapping[str, Any]] = []
    latest = -1
    for event in events:
        step = event.get("step")
        if event["kind"] == "step" and step is not None:
            if step <= latest:
                kept = [e for e in kept if e.get("step") is None or e["step"] < step]
            latest = step
        kept.append(event)
    return kept


def points(events: Iterable[Mapping[str, Any]], *, most: int = 500) -> list[dict[str, Any]]:
    """Return the steps in long form for charts: one row a step and series, at most so many steps.

    Rows are ``{"step", "epoch", "kind", "series", "value"}``. Series of kind `term`: the terms by their
    names; of kind `step`: `learning rate`, `memory` and `GPU memory` in MiB, `steps a second`; of kind
    `evaluation`: `dev` and the figures by name.

    >>> rows = points([{"kind": "step", "step": 1, "epoch": 0, "learning_rate": 0.1, "terms": {"loss": 2.0}}])
    >>> [(row["kind"], row["series"], row["value"]) for row in rows]
    [('term', 'loss', 2.0), ('step', 'learning rate', 0.1)]
    """
    told = in_force(events)
    steps = [event for event in told if event["kind"] == "step"]
    apart = max(1, math.ceil(len(steps) / most))
    # Counted from the end, so that the newest point is always there.
    steps = steps[(len(steps) - 1) % apart :: apart] if steps else []
    shown = [*steps, *(event for event in told if event["kind"] == "evaluation")]
    return [
        {"step": event["step"], "epoch": event["epoch"], "kind": kind, "series": series, "value": value}
        for event in shown
        for kind, series, value in _series(event)
        if value is not None
    ]


def memory() -> dict[str, int]:
    """Return bytes of memory in use by this process, now and at most; those of a GPU where one is in use."""
    found: dict[str, int] = {}
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        found["resident"] = pages * resource.getpagesize()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        found["gpu"] = torch.cuda.memory_allocated()
        found["gpu_peak"] = torch.cuda.max_memory_allocated()
    return found


def _series(event: Mapping[str, Any]) -> Iterator[tuple[str, str, float | None]]:
    if event["kind"] == "evaluation":
        yield "evaluation", "dev", event["score"]
        yield from (("evaluation", name, value) for name, value in event["figures"].items())
        return
    yield from (("term", name, value) for name, value in event["terms"].items())
    yield "step", "learning rate", event["learning_rate"]
    held = event.get("memory", {})
    for series, name in (("memory", "resident"), ("GPU memory", "gpu")):
        if name in held:
            yield "step", series, held[name] / 2**20
    yield "step", "steps a second", event.get("rate")


def _parsed(lines: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and "kind" in told:
            yield told


def _finite(value: Any) -> Any:  # noqa: ANN401 - of JSON's types
    """Return a value that strict JSON can say: what is no number becomes none."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _ends_whole(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            opened.seek(0, 2)
            if not opened.tell():
                return True
            opened.seek(-1, 2)
            return opened.read(1) == b"\n"
    except OSError:
        return True
