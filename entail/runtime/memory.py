"""Models and indexes in the memory of this process: list, load and free them, and choose their device."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from entail.encoders.device import device_name
from entail.memory import CACHE, size_in_bytes
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
from entail.runtime.tasks import Task, finish

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
        tasks: dict[tuple[str, Any], Any] = {**CACHE.entries}
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


_published: set[tuple[str, ...]] = set()


def publish_memory() -> None:
    """Set the metrics of `list_residents`, of this process's memory, and of that of GPUs."""
    import psutil

    from entail.runtime import metrics

    residents = {tuple(str(getattr(r, name)) for name in metrics.RESIDENT): r for r in list_residents()}
    for labels in _published - residents.keys():
        metrics.MODEL_BYTES.labels(*labels).set(0)
    _published.update(residents)
    for labels, resident in residents.items():
        metrics.MODEL_BYTES.labels(*labels).set(resident.size)
        metrics.MODEL_LOADED.labels(*labels).set(resident.since)
        metrics.MODEL_USED.labels(*labels).set(resident.used)
    memory = psutil.Process().memory_full_info()
    metrics.PROCESS_BYTES.labels(str(os.getpid())).set(getattr(memory, "pss", memory.rss))
    for number, gpu in enumerate(list_gpus()):
        metrics.GPU_BYTES.labels(f"{number} {gpu.name}", "used").set(gpu.used)
        metrics.GPU_BYTES.labels(f"{number} {gpu.name}", "total").set(gpu.total)


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
