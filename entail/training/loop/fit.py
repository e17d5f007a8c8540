"""Training loop of all methods: steps, schedule, checkpoints, best weights.

A method supplies batches and loss (`Task`). A run that is killed at any moment and resumed ends with the
weights of an uninterrupted one, bit for bit on a CPU: batches depend only on seed and epoch, dropout only on
seed and step, and the checkpoint holds everything else.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.data.reading import open_regular
from entail.data.stored import parse_as
from entail.data.writing import differences, replacing
from entail.encoders.device import trim_heap
from entail.errors import CheckpointError, DivergedError, TrainingError
from entail.progress import Meter, ProgressCallback
from entail.training.loop.task import Evaluated, Event, Schedule, Task, Watch

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter
    from torch.optim import AdamW

CHECKPOINT = "checkpoint.safetensors"

TRIM_SECONDS = 10.0
"""Seconds of training after which freed memory goes back to the system."""


@dataclass(frozen=True)
class Fitted:
    """Result of the loop over all resumptions; without a `best` evaluation the last weights are kept."""

    best: Evaluated | None
    evaluations: tuple[Evaluated, ...]
    steps: int
    seconds: float
    resumed: int

    def warnings(self, measure: str) -> tuple[str, ...]:
        """Return a warning if no weights did better on dev than the untrained ones."""
        if self.best is None or self.best.score > self.evaluations[0].score:
            return ()
        best, untrained = abs(self.best.score), abs(self.evaluations[0].score)
        return (
            f"no weights did better on dev than the untrained ones ({measure} {best:.4f} against "
            f"{untrained:.4f}); look at the learning rate and at the data",
        )


def fit(
    task: Task,
    parameters: Mapping[str, Parameter],
    schedule: Schedule,
    *,
    folder: Path | None = None,
    fingerprint: Mapping[str, str] | None = None,
    resume: bool = True,
    progress: ProgressCallback | None = None,
    watch: Watch | None = None,
    stop: Callable[[], bool] | None = None,
) -> Fitted:
    """Train, and leave the best weights in `parameters`.

    Args:
        task: Task of the method.
        parameters: Trained weights by name.
        schedule: Steps and learning rate.
        folder: Folder for checkpoints; None writes none.
        fingerprint: Identity of the training; a checkpoint with another one is refused.
        resume: Whether to continue from the checkpoint in `folder`.
        progress: Callback for progress.
        watch: Callback for every step.
        stop: Called after every step; True writes a checkpoint and stops.

    Raises:
        DivergedError: If the loss or the gradient is not finite.
        TrainingError: If there are no weights or batches, `stop` returned True, or another process trains
            into this folder.
        CheckpointError: If the checkpoint is of another training, damaged, or cannot be written.
    """
    with _lock_folder(folder):
        file = None if folder is None else folder / CHECKPOINT
        run = _Run(task, parameters, schedule, file, fingerprint or {}, watch, stop)
        if file is not None and resume and file.is_file():
            run.resume(file)
        return run.go(progress)


class _Run:
    """State of one training; see `fit`."""

    def __init__(
        self,
        task: Task,
        parameters: Mapping[str, Parameter],
        schedule: Schedule,
        file: Path | None,
        fingerprint: Mapping[str, str],
        watch: Watch | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        import torch

        if not parameters:
            raise TrainingError("expected weights to train, found none")
        self.task, self.parameters, self.schedule = task, dict(parameters), schedule
        self.file, self.fingerprint, self.watch, self.stop = file, fingerprint, watch, stop
        self.optimizer: AdamW = torch.optim.AdamW(
            list(self.parameters.values()), lr=schedule.learning_rate, weight_decay=schedule.weight_decay
        )
        self.epoch = self.next_batch = self.step = self.resumed = 0
        self.evaluations: list[Evaluated] = []
        self.best: Evaluated | None = None
        self.best_weights: dict[str, Tensor] = {}
        self.total: int | None = None
        self.before = 0.0
        self.start = time.perf_counter()

    @property
    def seconds(self) -> float:
        return self.before + time.perf_counter() - self.start

    def go(self, progress: ProgressCallback | None) -> Fitted:
        import torch

        schedule = self.schedule
        if self.step == 0 and not self.evaluations:
            self._evaluate(0)
        meter: Meter | None = None
        saved = trimmed = time.perf_counter()
        for epoch in range(self.epoch, schedule.epochs):
            if self.next_batch == 0:
                self.task.begin_epoch(epoch)
            dealt = self.task.batches(epoch)
            if self.total is None:
                self.total = self.task.steps(schedule.epochs)
            if meter is None:
                left = max(self.total - self.step, 1)
                meter = Meter(left, "training", unit="steps", report=progress)
            for at in range(self.next_batch, len(dealt)):
                rate = schedule.learning_rate * _factor(self.step, self.total, schedule.warmup)
                terms, stopped = self._step(dealt[at], rate)
                self.step, self.epoch, self.next_batch = self.step + 1, epoch, at + 1
                self._report(Event(self.step, self.total, epoch, terms, rate))
                meter.add(1)
                every = schedule.evaluate_steps
                if every and self.step % every == 0 and at + 1 < len(dealt):
                    self._evaluate(epoch)
                if stopped:
                    self._save()
                    raise TrainingError(f"stopped on request after step {self.step}; resume to go on")
                if time.perf_counter() - trimmed >= TRIM_SECONDS:
                    trim_heap()
                    trimmed = time.perf_counter()
                if time.perf_counter() - saved >= schedule.checkpoint_seconds:
                    self._save()
                    saved = time.perf_counter()
            self.epoch, self.next_batch = epoch + 1, 0
            self._evaluate(epoch + 1)
            self._save()
            saved = time.perf_counter()
        if self.step == 0:
            raise TrainingError("expected batches to train on, found none")
        with torch.no_grad():
            for name, weights in self.best_weights.items():
                self.parameters[name].copy_(weights)
        return Fitted(self.best, tuple(self.evaluations), self.step, self.seconds, self.resumed)

    def _step(self, batch: Any, rate: float) -> tuple[dict[str, float], bool]:
        """Make one step; return its loss terms, and whether to stop."""
        import torch

        # Dropout depends only on seed and step, not on other random draws in between.
        draw = np.random.SeedSequence((self.schedule.seed, 0, self.step))
        torch.manual_seed(int(draw.generate_state(1)[0]))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss, terms = self.task.loss(batch)
        value = float(loss.detach())
        if loss.requires_grad and math.isfinite(value):
            loss.backward()  # type: ignore[no-untyped-call]  # not typed there
        stopped = self.stop is not None and self.stop()
        if not math.isfinite(value):
            raise DivergedError(
                f"the loss became {value} at step {self.step + 1} (learning rate {rate:g}); the last "
                "checkpoint is from before it: lower the learning rate, or train in fp32"
            )
        limit = self.schedule.max_gradient_norm
        norm = float(torch.nn.utils.clip_grad_norm_(list(self.parameters.values()), limit))
        if not math.isfinite(norm):
            raise DivergedError(
                f"the gradient became {norm} at step {self.step + 1}; lower the learning rate or use fp32"
            )
        self.optimizer.step()
        return {"loss": value, "gradient_norm": norm, **terms}, stopped

    def _report(self, event: Event) -> None:
        if self.watch is not None:
            self.watch(event)

    def _evaluate(self, epoch: int) -> None:
        measured = self.task.evaluate()
        if measured is None:
            return
        evaluated = Evaluated(epoch, measured[0], dict(measured[1]), self.seconds, self.step)
        self.evaluations.append(evaluated)
        # Untrained weights are no result, however well they score.
        if self.step and (self.best is None or evaluated.score > self.best.score):
            self.best = evaluated
            self.best_weights = {name: p.detach().clone() for name, p in self.parameters.items()}
        self._report(Event(self.step, self.total or 0, epoch, evaluated=evaluated))

    def _save(self) -> None:
        if self.file is None:
            return
        import torch

        tensors: dict[str, Tensor] = {f"weights.{name}": p for name, p in self.parameters.items()}
        tensors |= {f"best.{name}": weights for name, weights in self.best_weights.items()}
        for name, parameter in self.parameters.items():
            for part, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"adam.{part}.{name}"] = torch.as_tensor(value)
        state = {
            "epoch": self.epoch,
            "next_batch": self.next_batch,
            "step": self.step,
            "total": self.total,
            "resumed": self.resumed,
            "seconds": self.seconds,
            "evaluations": [asdict(e) for e in self.evaluations],
            "best": self.evaluations.index(self.best) if self.best else None,
            "task": dict(self.task.state()),
        }
        write_checkpoint(self.file, self.fingerprint, state, tensors)

    def resume(self, file: Path) -> None:
        import torch

        state, tensors = read_checkpoint(file, fingerprint=self.fingerprint)
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(tensors[f"weights.{name}"])
                moments = {
                    part: tensors[f"adam.{part}.{name}"].to(parameter.device if part != "step" else "cpu")
                    for part in ("step", "exp_avg", "exp_avg_sq")
                    if f"adam.{part}.{name}" in tensors
                }
                if moments:
                    self.optimizer.state[parameter] = moments
        self.best_weights = {
            name: tensors[f"best.{name}"].to(p.device)
            for name, p in self.parameters.items()
            if f"best.{name}" in tensors
        }
        self.evaluations = [Evaluated(**e) for e in state["evaluations"]]
        self.best = None if state["best"] is None else self.evaluations[state["best"]]
        self.epoch, self.next_batch, self.step = state["epoch"], state["next_batch"], state["step"]
        self.before, self.resumed = state["seconds"], state["resumed"] + 1
        self.total = state["total"]
        self.task.restore(state["task"])


@contextlib.contextmanager
def _lock_folder(folder: Path | None) -> Iterator[None]:
    """Lock a folder against a second training; the system releases the lock of a killed process."""
    if folder is None:
        yield
        return
    from filelock import FileLock, Timeout

    lock = FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise TrainingError(
            f"another process is training into {folder.name!r}; wait for it, or use another folder"
        ) from error
    except OSError as error:
        raise CheckpointError(
            f"the folder {folder.name!r} for checkpoints cannot be written: {error}"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _factor(step: int, total: int, warmup: float) -> float:
    """Return the share of the learning rate at a step: linear up, then linear down to 0."""
    rising = max(1, round(total * warmup))
    if step < rising:
        return (step + 1) / rising
    return max(0.0, (total - step) / max(1, total - rising))


def write_checkpoint(
    file: Path, fingerprint: Mapping[str, str], state: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> None:
    """Write a checkpoint as safetensors in one move: a killed process leaves the old one or the new one.

    The fingerprint is the identity of the training: base, data, configuration. The state is JSON values.

    Raises:
        CheckpointError: If it cannot be written; the old one stays.
    """
    from safetensors.torch import save_file

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file, sole_writer=True) as partial:
            save_file(
                {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()},
                str(partial),
                metadata={
                    "fingerprint": json.dumps(dict(fingerprint)),
                    "state": json.dumps(dict(state)),
                },
            )
            with partial.open("rb") as written:
                os.fsync(written.fileno())
    except Exception as error:
        raise CheckpointError(
            f"the checkpoint {file.name} could not be written: {error}; make room, then resume"
        ) from error


def read_checkpoint(
    file: Path, *, fingerprint: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return state and tensors of the checkpoint of the training with this fingerprint.

    Raises:
        CheckpointError: If it is damaged, or has another fingerprint; names the differences.
    """
    from safetensors import SafetensorError, safe_open

    try:
        open_regular(file).close()  # the opening of a pipe would wait
        with safe_open(str(file), framework="pt") as opened:
            header = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
        stored_fingerprint = parse_as(dict[str, str], header["fingerprint"])
        state = json.loads(header["state"])
    except (OSError, SafetensorError, KeyError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{file.name}: expected a checkpoint, found a damaged file ({error}); remove it to start again"
        ) from error
    if differing := differences(fingerprint, stored_fingerprint):
        raise CheckpointError(
            f"{file.name} is of another training ({differing}); train into another folder, or "
            "start again without resuming"
        )
    return state, tensors
