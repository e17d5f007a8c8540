"""Models and indexes in the memory of this process: list, load and free them, and choose their device."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from entail.encoders.device import device_name
from entail.runtime.chains import SCORERS, take_scorer
from entail.runtime.machine import list_gpus
from entail.runtime.models import (
    CROSS,
    INDEXES,
    SharedEncoder,
    load_judge,
    load_reader,
    load_reranker,
    load_verifier,
    model_cache,
)
from entail.runtime.tasks import CACHE, Task, finish, size_in_bytes

INDEX, JUDGE = "index", "judge"
"""Kinds in memory: an index, and the role of judges; the other kinds are roles, too."""


@dataclass(frozen=True)
class Resident:
    """Model or index in memory; an index has the name of its corpus.

    `size` is in bytes, `since` and `used` are in seconds since 1970.
    """

    kind: str
    name: str
    revision: str
    device: str
    corpus: str
    size: int
    since: float
    used: float


def list_residents() -> list[Resident]:
    """Return the models and indexes in the memory of this process."""
    encoders = model_cache().encoders
    loaded: list[tuple[str, str, str, Any, SharedEncoder | Task[Any]]] = [
        (
            "direction" if encoder.entry.gaussian is not None else "retriever",
            encoder.name,
            "",
            encoder,
            encoder,
        )
        for encoder in encoders
    ]
    with CACHE.lock:
        tasks: dict[tuple[str, Any], Task[Any]] = {**CACHE.tasks}
    for (group, key), task in tasks.items():
        if task.value is None:
            continue
        if group == INDEXES.name:
            loaded.append((INDEX, key[0], model_cache().corpus_name(key[2]), task.value, task))
        elif group == CROSS.name:
            loaded.append((key[0], key[1], "", task.value, task))
        elif group == SCORERS.name:
            loaded.append(("chains", key[0], "", task.value, task))
    return [
        Resident(
            kind=kind,
            name=name,
            revision=value.manifest.revision if kind == INDEX else value.revision,
            device="cpu" if kind == INDEX else device_name(),
            corpus=corpus,
            size=_measure(value, [encoder for encoder in encoders if encoder is not value]),
            since=times.since,
            used=times.used,
        )
        for kind, name, corpus, value, times in loaded
    ]


def _measure(value: object, without: Sequence[object]) -> int:
    with contextlib.suppress(Exception):  # a foreign object may raise anything
        return size_in_bytes(value, without=without)
    return 0


class MemoryCollector:
    """Collector of `list_residents`, and of the memory of GPUs, for a registry of `prometheus_client`."""

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges as they are now."""
        labels = ("kind", "name", "revision", "device", "corpus")
        size = GaugeMetricFamily("entail_model_bytes", "Bytes of a model or index in memory", labels=labels)
        since = GaugeMetricFamily("entail_model_loaded_seconds", "Time of loading, since 1970", labels=labels)
        used = GaugeMetricFamily(
            "entail_model_used_seconds", "Time of the last use, since 1970", labels=labels
        )
        for resident in list_residents():
            values = [getattr(resident, name) for name in labels]
            size.add_metric(values, resident.size)
            since.add_metric(values, resident.since)
            used.add_metric(values, resident.used)
        yield from (size, since, used)
        memory = GaugeMetricFamily("entail_gpu_bytes", "Memory of a GPU", labels=["gpu", "of"])
        for number, gpu in enumerate(list_gpus()):
            memory.add_metric([f"{number} {gpu.name}", "used"], gpu.used)
            memory.add_metric([f"{number} {gpu.name}", "total"], gpu.total)
        yield memory


def load(kind: str, name: str, revision: str) -> None:
    """Load a model of a role and let it read a text, so that the next request is answered at once.

    Raises:
        EntailError: If it cannot be loaded.
    """
    texts = ["a text"]
    if kind == "reranker":
        load_reranker(name, revision).score(texts[0], texts)
    elif kind == JUDGE:
        load_judge(name).entailment(texts, texts)
    elif kind == "steps":
        load_verifier(name).check([(texts, texts[0])])
    elif kind == "reader":
        load_reader(name).read([(texts[0], texts)])
    elif kind == "chains":
        finish(take_scorer(name, revision, wait=0))
    else:
        model_cache().encoder(name).encode(texts, "query", normalised=False)


def use_device(device: str) -> None:
    """Run all models of this process on a device from now on; they are loaded again at their next use."""
    os.environ["ENTAIL_DEVICE"] = device_name(device)
    for resident in list_residents():
        model_cache().release(resident.name)
