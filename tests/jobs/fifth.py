"""A method that `entail` has never heard of: some numbers that wander, and every way to come to grief.

It joins by what stands here: a configuration, a training, an evaluation. It needs no torch, so that tests
that start it by the dozen stay quick.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from safetensors.numpy import load_file, save_file

from entail.encoders.catalogue import resolve
from entail.errors import DivergedError, TrainingError
from entail.evaluation.retrieval.paired import QueryFigures
from entail.progress import Progress, ProgressCallback
from entail.training.loop.task import Evaluated, Event
from entail.training.method import Method, Run


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Its data."""

    seed: Annotated[int, "where the numbers come from"] = 0

    def read(self, *, keep: Path | None = None) -> int:
        return self.seed


@dataclass(frozen=True, kw_only=True)
class FifthConfig:
    steps: Annotated[int, "how far it goes"] = 5
    pace: Annotated[float, "seconds a step"] = 0.0
    trouble: Annotated[
        Literal["none", "nan", "memory", "disk", "brim", "killed", "bug", "stubborn", "nothing"],
        "how it ends at the third step",
    ] = "none"


def train(seed: int, config: FifthConfig, run: Run) -> Mapping[str, Any]:
    state = run.work / "state.safetensors"
    run.work.mkdir(parents=True, exist_ok=True)
    weights, step = np.zeros(64, dtype=np.float32), 0
    if state.exists():
        checkpoint = load_file(state)
        weights, step = checkpoint["weights"], int(checkpoint["step"][0])
    begun = step
    while step < config.steps:
        if step == 2:
            trouble(config.trouble, run)
        noise = np.random.default_rng((seed, step)).normal(size=64).astype(np.float32)
        weights, step = weights * np.float32(0.9) + noise, step + 1
        keep(state, {"weights": weights, "step": np.array([step])})
        run.watch(Event(step, config.steps, 0, {"loss": 1 / step, "active": 0.5, "variance": 0.1}, 0.01))
        run.progress(Progress(step, config.steps, 1.0, "wandering", "steps"))
        if run.stop():
            raise TrainingError(f"stopped on request after step {step}; resume to go on")
        time.sleep(config.pace)
    run.watch(Event(step, config.steps, 1, evaluated=Evaluated(1, 0.5, {"dev.MAP": 0.5}, 1.0)))
    if config.trouble != "nothing":
        write_encoder(run.out, weights)
    return {"begun_at": begun, "steps": step, "warnings": ["it only wanders"]}


def write_encoder(folder: Path, weights: np.ndarray[Any, Any]) -> None:
    folder.mkdir(parents=True)
    save_file({"weights": weights}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"hidden_size": 64}', encoding="utf-8")


def keep(file: Path, tensors: dict[str, Any]) -> None:
    partial = file.with_suffix(".partial")
    save_file(tensors, partial)
    partial.replace(file)


def trouble(kind: str, run: Run) -> None:
    import resource

    if kind == "nan":
        raise DivergedError("the loss became nan at step 3 (learning rate 9); lower the learning rate")
    if kind == "memory":
        # So much of address space as it has, and a little.
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + (64 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        bytearray(1 << 34)
    if kind in ("disk", "brim"):
        room = 4096 if kind == "disk" else 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        (run.work / "large").write_bytes(bytes(1 << 16))
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "bug":
        raise KeyError("of nobody's making")
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        run.progress(Progress(2, 5, 1.0, "deaf", "steps"))
        while True:
            time.sleep(0.05)


def evaluate(encoder: str | Path, seed: int, progress: ProgressCallback | None) -> QueryFigures | None:
    entry = resolve(encoder)
    good = 0.2 if entry.kind == "packaged" else 0.7
    values = np.linspace(good, good + 0.1, 20)
    return QueryFigures(
        entry.name,
        str(entry.revision),
        f"numbers of seed {seed}",
        tuple(map(str, range(20))),
        "luck",
        {"luck": (values, np.ones(20))},
    )


FIFTH = Method(name="fifth", config=FifthConfig, train=train, evaluate=evaluate, source=Numbers)
