"""Events of a training: an append-only file of one JSON object per line, and rows for charts.

===============  ======================================================================================
`kind`           further fields, in addition to `at` (seconds since 1970) and `attempt`
===============  ======================================================================================
`begin`          none; a resumed training replays the steps after its checkpoint
`step`           `step`, `steps`, `epoch`, `learning_rate`, `terms` (means over `over` steps: `loss`, its
                 terms, `gradient_norm`, `active`, `variance` ... as the method has them), `memory` (bytes:
                 `resident`, `gpu`), `rate` (steps a second), `seconds_left`
`evaluation`     `step`, `epoch`, `score`, `figures`
`warning`        `step`, `text`
`end`            `state`, `ending`, `what`
===============  ======================================================================================

Incomplete lines of killed processes are skipped.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from entail.data.reading import open_regular
from entail.data.stored import parse_as
from entail.training.loop.task import Event

EVERY = 1.0
"""Seconds between two `step` lines; each holds the means over the steps since the last one."""

_READ_AT_ONCE = 1 << 22


class EventWriter:
    """Writer of the events of an attempt; a file that cannot be written does not stop the training."""

    def __init__(self, file: Path, *, attempt: int, every: float = EVERY) -> None:
        self._file, self._attempt, self._every = file, attempt, every
        self._first: tuple[int, float] | None = None
        self._last = float("-inf")
        self._sums: dict[str, float] = {}
        self._over = 0
        # An earlier attempt may have been killed within a line; a blank one is skipped.
        with contextlib.suppress(OSError), file.open("a", encoding="utf-8") as opened:
            opened.write("\n")
        self.write("begin")

    def __call__(self, event: Event) -> None:
        """Write an event of the training loop."""
        if (done := event.evaluated) is not None:
            figures = dict(done.figures)
            self.write("evaluation", step=event.step, epoch=done.epoch, score=done.score, figures=figures)
        elif event.terms:
            self._step(event)

    def write(self, kind: str, **fields: object) -> None:
        """Append one line."""
        event = {"kind": kind, "at": round(time.time(), 3), "attempt": self._attempt, **_finite(fields)}
        # On a full disk the checkpoint fails, with a clear error.
        with contextlib.suppress(OSError), self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

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


class EventFile:
    """Cached reader of an event file: each line is read once, for all sessions.

    Every second step is dropped once there are more than `most`.
    """

    def __init__(self, file: Path, *, most: int = 4000) -> None:
        self._file, self._most = file, most
        self._cached: list[Mapping[str, Any]] = []
        self._offset = 0
        self._lock = threading.Lock()

    def events(self) -> list[Mapping[str, Any]]:
        """Return the events up to now without replayed ones."""
        with self._lock:
            while (batch := read_events(self._file, after=self._offset))[1] > self._offset:
                self._offset = batch[1]
                self._cached = drop_replayed([*self._cached, *batch[0]])
                steps = [event["step"] for event in self._cached if event["kind"] == "step"]
                if len(steps) > self._most:
                    gone = set(steps[-2::-2])
                    self._cached = [e for e in self._cached if e["kind"] != "step" or e["step"] not in gone]
            return list(self._cached)


def read_events(file: Path, *, after: int = 0) -> tuple[list[Mapping[str, Any]], int]:
    """Return the events after an offset, and the offset to continue from; nothing without a file."""
    try:
        with open_regular(file) as opened:
            opened.seek(after)
            content = opened.read(_READ_AT_ONCE)
    except OSError:
        return [], after
    whole = content[: content.rfind(b"\n") + 1]
    events: list[Mapping[str, Any]] = []
    for line in whole.splitlines():
        with contextlib.suppress(ValueError):
            event = parse_as(dict[str, Any], line)
            if "kind" in event:
                events.append(event)
    return events, after + len(whole)


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


def points(events: Sequence[Mapping[str, Any]], *, most: int = 500) -> list[dict[str, Any]]:
    """Return events without replayed ones as rows for charts, one per step and series, `most` steps at most.

    Rows are ``{"step", "epoch", "kind", "series", "value"}``. Series of kind `term`: the terms by their
    names; of kind `step`: `learning rate`, `memory` and `GPU memory` in MiB, `steps a second`; of kind
    `evaluation`: `dev` and the figures by name.

    >>> rows = points([{"kind": "step", "step": 1, "epoch": 0, "learning_rate": 0.1, "terms": {"loss": 2.0}}])
    >>> [(row["kind"], row["series"], row["value"]) for row in rows]
    [('term', 'loss', 2.0), ('step', 'learning rate', 0.1)]
    """
    steps = [event for event in events if event["kind"] == "step"]
    stride = max(1, math.ceil(len(steps) / most))
    # Counted from the end, so that the newest point is always shown.
    steps = steps[(len(steps) - 1) % stride :: stride] if steps else []
    chart_events = [*steps, *(event for event in events if event["kind"] == "evaluation")]
    return [
        {"step": event["step"], "epoch": event["epoch"], "kind": kind, "series": series, "value": value}
        for event in chart_events
        for kind, series, value in _series(event)
        if value is not None
    ]


class Panel(NamedTuple):
    """Chart of some series; its points are rows of `points`."""

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


def panels(points: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Return the charts of a training; charts without points are left out.

    Dev figures share a chart by the part of their names before the dot.

    >>> row = {"step": 1, "epoch": 0, "kind": "term", "series": "loss", "value": 2.0}
    >>> figure = row | {"kind": "evaluation", "series": "paper.MAP"}
    >>> [(panel.title, panel.series) for panel in panels([row, row | {"series": "active"}, figure])]
    [('Loss and its terms', ('loss',)), ('Dev figures, paper', ('MAP',)),
     ('Active triplets (share)', ('active',))]
    """
    charts: dict[str, list[Mapping[str, Any]]] = {LOSS: []}
    figures = [row for row in points if row["kind"] == "evaluation"]
    repeated = _is_dev_repeated(figures)
    for row in figures:
        group, _, name = str(row["series"]).rpartition(".")
        if name == "dev" and repeated:
            continue  # the selection figure is also there under its own name
        title = f"{DEV}, {group.replace('_', ' ')}" if group else DEV
        charts.setdefault(title, []).append({**row, "series": name})
    charts |= {title: [] for title in _OWN_CHARTS.values()}
    for row in points:
        if row["kind"] != "evaluation":
            charts[_OWN_CHARTS.get(row["series"], LOSS)].append(row)
    return [Panel(title, rows) for title, rows in charts.items() if rows]


def _is_dev_repeated(figures: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether another figure has the values of `dev`."""
    by_name: dict[str, dict[int, float]] = {}
    for row in figures:
        by_name.setdefault(str(row["series"]), {})[row["step"]] = row["value"]
    return by_name.pop("dev", None) in by_name.values()


def memory() -> dict[str, int]:
    """Return the memory of this process in bytes, also of the GPU, if it uses one."""
    import psutil

    sizes = {"resident": int(psutil.Process().memory_info().rss)}
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        sizes["gpu"] = torch.cuda.memory_allocated()
    return sizes


def _series(event: Mapping[str, Any]) -> Iterator[tuple[str, str, float | None]]:
    if event["kind"] == "evaluation":
        yield "evaluation", "dev", event["score"]
        yield from (("evaluation", name, value) for name, value in event["figures"].items())
        return
    yield from (("term", name, value) for name, value in event["terms"].items())
    yield "step", "learning rate", event["learning_rate"]
    sizes = event.get("memory", {})
    yield from (
        ("step", series, sizes[name] / 2**20)
        for series, name in (("memory", "resident"), ("GPU memory", "gpu"))
        if name in sizes
    )
    yield "step", "steps a second", event.get("rate")


def _finite(value: Any) -> Any:  # noqa: ANN401 - of JSON's types
    """Return a value for strict JSON: NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
