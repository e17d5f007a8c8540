"""History of a server's metrics: samples of its registry, and the traffic between two of them."""

from __future__ import annotations

import functools
import math
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

STEP = 20.0
"""Seconds between two samples."""

HOURS = 6
"""Hours of which samples are kept."""

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


_KEYS: dict[Labels, Labels] = {}
"""Labels of all samples, which would otherwise hold copies of their own."""


def take_sample(metrics: Iterable[Metric]) -> Sample:
    """Return the figures of `entail` among some metrics."""
    values: dict[str, dict[Labels, float]] = {}
    for metric in metrics:
        for sample in metric.samples:
            if sample.name.startswith("entail_") and not sample.name.endswith("_created"):
                key = tuple(sorted(sample.labels.items()))
                values.setdefault(sample.name, {})[_KEYS.setdefault(key, key)] = sample.value
    return Sample(time.time(), values)


@dataclass(frozen=True)
class Traffic:
    """Traffic between two samples; quantiles are None without an observation."""

    first: Sample
    last: Sample

    @property
    def seconds(self) -> float:
        """Length of the time between the samples."""
        return self.last.at - self.first.at

    def increase(self, name: str, **labels: str) -> dict[Labels, float]:
        """Return by how much counters grew; after a restart they began at 0."""
        before = self.first.values.get(name, {})
        after = self.last.select(name, **labels).items()
        return {key: value - old if value >= (old := before.get(key, 0.0)) else value for key, value in after}

    def count(self, name: str, **labels: str) -> float:
        """Return the sum of `increase`."""
        return sum(self.increase(name, **labels).values())

    def quantile(self, name: str, share: float, **labels: str) -> float | None:
        """Return a quantile of a histogram, interpolated within its bucket."""
        counts: dict[float, float] = {}
        for key, count in self.increase(f"{name}_bucket", **labels).items():
            limit = float(dict(key)["le"])
            counts[limit] = counts.get(limit, 0.0) + count
        total, low, below = counts.get(math.inf, 0.0), 0.0, 0.0
        for limit, count in sorted(counts.items()):
            if count > below and count >= share * total:
                high = low if math.isinf(limit) else limit
                return low + (high - low) * (share * total - below) / (count - below)
            low, below = limit, count
        return None


class History:
    """Samples of a registry over the last hours.

    A sample is taken when they are read, and after `start` also by a thread of its own.

    Args:
        read: Function that returns the metrics now.

    Attributes:
        error: Reason why the last sample is missing.
    """

    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self.error: EntailError | None = None
        self._read = read
        self._samples: deque[Sample] = deque()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Take samples in the background until the process ends."""
        threading.Thread(target=self._work, name="metrics", daemon=True).start()

    def samples(self, seconds: float) -> list[Sample]:
        """Return the samples of the last seconds, the newest of which is taken now."""
        self._sample()
        with self._lock:
            return [sample for sample in self._samples if sample.at >= time.time() - seconds]

    def _work(self) -> None:
        while True:
            self._sample()
            time.sleep(STEP)

    def _sample(self) -> None:
        """Take a sample; it replaces the last one if that followed the one before it too soon."""
        with self._lock:
            try:
                sample = take_sample(self._read())
            except EntailError as error:
                self.error = error
                return
            self.error = None
            if len(self._samples) > 1 and self._samples[-1].at - self._samples[-2].at < STEP:
                self._samples.pop()
            self._samples.append(sample)
            while self._samples and self._samples[0].at < time.time() - HOURS * 3_600:
                self._samples.popleft()


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
        raise ServingError("expected metrics of entail's API, found another text", kind="strange") from error
