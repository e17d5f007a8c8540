"""History of a server's metrics: samples of its registry, and the traffic between two of them."""

from __future__ import annotations

import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from entail.errors import EntailError, ServingError
from entail.serving.client import Client
from entail.serving.metrics import collect

STEP = 10.0
"""Seconds between two samples, and six times as many between those older than `RECENT` of them."""

RECENT, OLDER = 360, 1_440
"""Samples of the last hour, and of the last day."""

Labels = tuple[tuple[str, str], ...]
"""Names and values of the labels of a figure, sorted."""


@dataclass(frozen=True)
class Sample:
    """Figures of a registry at a time in seconds since 1970: name -> labels -> value."""

    at: float
    values: Mapping[str, Mapping[Labels, float]]

    def select(self, name: str, **labels: str) -> dict[Labels, float]:
        """Return the values of a figure whose labels have these values."""
        return {
            key: value
            for key, value in self.values.get(name, {}).items()
            if labels.items() <= dict(key).items()
        }

    def label_values(self, name: str, label: str) -> list[str]:
        """Return the values that a label of a figure has, sorted."""
        return sorted({dict(key)[label] for key in self.values.get(name, {})})


def take_sample(metrics: Iterable[Metric], *, at: float | None = None) -> Sample:
    """Return the figures of `entail` among some metrics."""
    values: dict[str, dict[Labels, float]] = {}
    for metric in metrics:
        for sample in metric.samples:
            if sample.name.startswith("entail_") and not sample.name.endswith("_created"):
                values.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return Sample(time.time() if at is None else at, values)


@dataclass(frozen=True)
class Traffic:
    """Traffic between two samples; quantiles are None without an observation."""

    first: Sample
    last: Sample

    @property
    def seconds(self) -> float:
        """Length of the time between the samples."""
        return self.last.at - self.first.at

    def count(self, name: str, **labels: str) -> float:
        """Return by how much a counter grew; after a restart it began at 0."""
        before = self.first.select(name, **labels)
        after = self.last.select(name, **labels)
        pairs = ((value, before.get(key, 0.0)) for key, value in after.items())
        return sum(value - old if value >= old else value for value, old in pairs)

    def quantile(self, name: str, share: float, **labels: str) -> float | None:
        """Return a quantile of a histogram, interpolated within its bucket."""
        limits = sorted(self.last.label_values(f"{name}_bucket", "le"), key=float)
        counts = [self.count(f"{name}_bucket", le=limit, **labels) for limit in limits]
        if not counts or not counts[-1]:
            return None
        target, low, below = share * counts[-1], 0.0, 0.0
        for limit, count in zip(map(float, limits), counts, strict=True):
            if count >= target and count > below:
                high = limit if limit != float("inf") else low
                return low + (high - low) * (target - below) / (count - below)
            low, below = limit, count
        return low


class History:
    """Samples of a registry over the last day.

    A sample is taken when somebody reads them, and after `start` also by a thread of its own.

    Args:
        read: Function that returns the metrics now.

    Attributes:
        error: Reason why the last sample is missing.
    """

    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self.error: EntailError | None = None
        self._read = read
        self._recent: deque[Sample] = deque(maxlen=RECENT)
        self._older: deque[Sample] = deque(maxlen=OLDER)
        self._lock = threading.Lock()

    def start(self) -> None:
        """Take samples in the background until the process ends."""
        threading.Thread(target=self._work, name="metrics", daemon=True).start()

    def samples(self, seconds: float) -> list[Sample]:
        """Return the samples of the last seconds; the newest is not older than a few seconds."""
        self._sample()
        with self._lock:
            begin = time.time() - seconds
            recent = list(self._recent)
            older = [sample for sample in self._older if not recent or sample.at < recent[0].at]
            return [sample for sample in older + recent if sample.at >= begin]

    def _work(self) -> None:
        while True:
            self._sample()
            time.sleep(STEP)

    def _sample(self) -> None:
        """Take a sample, unless there is one of the last few seconds."""
        with self._lock:
            if self._recent and time.time() - self._recent[-1].at < STEP / 3:
                return
            try:
                sample = take_sample(self._read())
            except EntailError as error:
                self.error = error
                return
            self.error = None
            self._recent.append(sample)
            if not self._older or sample.at - self._older[-1].at >= 6 * STEP:
                self._older.append(sample)


def split_traffic(samples: Sequence[Sample], steps: int) -> Iterator[Traffic]:
    """Yield the traffic of about so many steps of equal length, none shorter than `STEP`."""
    if not samples:
        return
    step = max(STEP, (samples[-1].at - samples[0].at) / steps)
    first = samples[0]
    for sample in samples[1:]:
        if sample.at - first.at >= 0.9 * step:
            yield Traffic(first, sample)
            first = sample


@functools.cache
def local_history() -> History:
    """Return the history of this process's registry, which is kept from the first call on."""
    history = History(collect)
    history.start()
    return history


def read_metrics(client: Client) -> Iterator[Metric]:
    """Return the metrics of another server.

    Raises:
        ServingError: If it does not answer, or not with metrics.
    """
    text = client.metrics()
    try:
        yield from text_string_to_metric_families(text)
    except ValueError as error:
        raise ServingError(
            f"expected metrics of entail's API, found {text[:40]!r}", kind="strange"
        ) from error
