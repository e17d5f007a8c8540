"""Events of a training: JSON objects that are appended to its job, and rows for charts.

===============  ======================================================================================
`kind`           further fields, in addition to `at` (seconds since 1970) and `attempt`
===============  ======================================================================================
`begin`          none; a resumed training replays the steps after its checkpoint
`step`           `step`, `steps`, `epoch`, `learning_rate`, `terms` (means over `over` steps: `loss`, its
                 terms, `gradient_norm`, `active`, `variance` ... as the method has them), `memory` (bytes:
                 `resident`, `gpu`), `rate` (steps a second), `seconds_left`
`evaluation`     `step`, `epoch`, `score`, `figures`
`warning`        `step`, `text`
`end`            `state`, `ending`, `what`; `published`: by an earlier attempt, which was killed then
===============  ======================================================================================
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from entail.data.stored import parse_as
from entail.errors import DatabaseError
from entail.training.loop.task import Event

EVERY = 1.0
"""Seconds between two `step` events; each holds the means over the steps since the last one."""

_MOST_UNSENT = 10_000


class EventWriter:
    """Writer of the events of an attempt; a database that does not answer gets them later."""

    def __init__(
        self, append: Callable[[Sequence[str]], None], *, attempt: int, every: float = EVERY
    ) -> None:
        self._append, self._attempt, self._every = append, attempt, every
        self._unsent: list[str] = []
        self._first: tuple[int, float] | None = None
        self._last = float("-inf")
        self._sums: dict[str, float] = {}
        self._over = 0
        self.write("begin")

    def __call__(self, event: Event) -> None:
        """Write an event of the training loop."""
        if (done := event.evaluated) is not None:
            figures = dict(done.figures)
            self.write("evaluation", step=event.step, epoch=done.epoch, score=done.score, figures=figures)
        elif event.terms:
            self._step(event)

    def write(self, kind: str, **fields: object) -> None:
        """Append one event."""
        event = {"kind": kind, "at": round(time.time(), 3), "attempt": self._attempt, **_finite(fields)}
        self._unsent = [*self._unsent[-_MOST_UNSENT:], json.dumps(event)]
        with contextlib.suppress(DatabaseError):
            self._append(self._unsent)
            self._unsent = []

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


class EventLog:
    """Cached reader of a job's events: each is read once, for all sessions.

    Every second step is dropped once there are more than `most`.
    """

    def __init__(self, read: Callable[[int], Sequence[tuple[int, str]]], *, most: int = 4000) -> None:
        self._read, self._most = read, most
        self._cached: list[Mapping[str, Any]] = []
        self._last = 0
        self._lock = threading.Lock()

    def events(self) -> list[Mapping[str, Any]]:
        """Return the events up to now without replayed ones."""
        with self._lock:
            while batch := self._read(self._last):
                self._last = batch[-1][0]
                self._cached = drop_replayed([*self._cached, *parse_events(text for _, text in batch)])
                steps = [event["step"] for event in self._cached if event["kind"] == "step"]
                if len(steps) > self._most:
                    gone = set(steps[-2::-2])
                    self._cached = [e for e in self._cached if e["kind"] != "step" or e["step"] not in gone]
            return list(self._cached)


def parse_events(contents: Iterable[str | bytes]) -> list[Mapping[str, Any]]:
    """Return the events of some texts without those that cannot be read."""
    events: list[Mapping[str, Any]] = []
    for content in contents:
        with contextlib.suppress(ValueError):
            event = parse_as(dict[str, Any], content)
            if "kind" in event:
                events.append(event)
    return events


def drop_replayed(events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the events without those that a resumed training replayed.

    >>> events = [{"kind": "step", "step": s} for s in (1, 2, 3, 2, 3, 4)]
    >>> [event["step"] for event in drop_replayed(events)]
    [1, 2, 3, 4]
    """
    remaining_events: list[Mapping[str, Any]] = []
    latest = -1
    for event in events:
        step = event.get("step")
        if event["kind"] == "step" and step is not None:
            if step <= latest:
                remaining_events = [e for e in remaining_events if e.get("step") is None or e["step"] < step]
            latest = step
        remaining_events.append(event)
    return remaining_events


class Panel(NamedTuple):
    """Chart of some series; points are ``{"step", "epoch", "series", "value"}``."""

    title: str
    points: Sequence[Mapping[str, Any]]

    @property
    def series(self) -> tuple[str, ...]:
        """Names of the series, in the order of the legend."""
        return tuple(dict.fromkeys(str(row["series"]) for row in self.points))


_OWN_CHARTS: Mapping[str, str] = {
    "learning rate": "Learning rate",
    "active": "Active triplets (share)",
    "variance": "Variance of embeddings",
    "premise_variance": "Variance of premise embeddings",
    "gradient_norm": "Gradient norm",
    "memory": "Memory (MiB)",
    "GPU memory": "GPU memory (MiB)",
    "steps a second": "Steps per second",
}
"""Series with their own chart; all other terms share the chart of the loss."""

LOSS, DEV = "Loss and its terms", "Dev figures"


def panels(events: Sequence[Mapping[str, Any]], *, most: int = 500) -> list[Panel]:
    """Return the charts of events without replayed ones, of at most `most` steps; none is empty.

    Dev figures share a chart by the part of their names before the dot.

    >>> step = {"kind": "step", "step": 1, "epoch": 0, "learning_rate": 0.1, "terms": {"loss": 2.0}}
    >>> [(panel.title, panel.series) for panel in panels([step])]
    [('Loss and its terms', ('loss',)), ('Learning rate', ('learning rate',))]
    """
    steps = [event for event in events if event["kind"] == "step"]
    stride = max(1, math.ceil(len(steps) / most))
    # Counted from the end, so that the newest point is always shown.
    steps = steps[(len(steps) - 1) % stride :: stride] if steps else []
    evaluations = [event for event in events if event["kind"] == "evaluation"]
    # The figure that selects the weights is also there under its own name, as a rule.
    is_repeated = all(event["score"] in event["figures"].values() for event in evaluations)
    charts: dict[str, list[Mapping[str, Any]]] = {LOSS: []}
    for event in evaluations:
        for name, value in {**({} if is_repeated else {"dev": event["score"]}), **event["figures"]}.items():
            group, _, series = name.rpartition(".")
            title = f"{DEV}, {group.replace('_', ' ')}" if group else DEV
            charts.setdefault(title, []).append(_point(event, series, value))
    charts |= {title: [] for title in _OWN_CHARTS.values()}
    for event in steps:
        sizes = {name: size / 2**20 for name, size in event.get("memory", {}).items()}
        values = {
            "learning rate": event["learning_rate"],
            "memory": sizes.get("resident"),
            "GPU memory": sizes.get("gpu"),
            "steps a second": event.get("rate"),
            **event["terms"],
        }
        for series, value in values.items():
            if value is not None:
                charts[_OWN_CHARTS.get(series, LOSS)].append(_point(event, series, value))
    return [Panel(title, rows) for title, rows in charts.items() if rows]


def _point(event: Mapping[str, Any], series: str, value: float) -> Mapping[str, Any]:
    return {"step": event["step"], "epoch": event["epoch"], "series": series, "value": value}


def memory() -> dict[str, int]:
    """Return the memory of this process in bytes, also of the GPU, if it uses one."""
    import psutil

    sizes = {"resident": int(psutil.Process().memory_info().rss)}
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        sizes["gpu"] = torch.cuda.memory_allocated()
    return sizes


def _finite(value: Any) -> Any:
    """Return a value for strict JSON: NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
