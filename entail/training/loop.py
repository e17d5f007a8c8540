"""The training loop of every method: steps, schedule, checkpoints, the best weights kept.

A method says what a batch is and what its loss terms are (`Task`); the loop does the rest. A run that is
killed at any moment and resumed ends with the weights of an uninterrupted one, bit for bit on a processor:
batches depend on seed and epoch alone, and a checkpoint holds everything else that is random or remembered.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from entail.errors import TrainingError
from entail.progress import Meter, ProgressCallback
from entail.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from entail.training.distributed import average, world

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter
    from torch.optim import AdamW

CHECKPOINT = "checkpoint.safetensors"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How the weights move: AdamW, linear warm-up, linear decay to 0.

    Attributes:
        epochs: Times through the data.
        learning_rate: At its highest.
        warmup: Share of all steps in which it rises.
        weight_decay: Of AdamW.
        max_gradient_norm: Longer gradients are cut to this length.
        evaluate_every: Epochs between two evaluations; the last is always evaluated.
        checkpoint_seconds: Seconds between two checkpoints; 0 writes one after every step.
        seed: Of batches and dropout.
    """

    epochs: int
    learning_rate: float
    warmup: float = 0.05
    weight_decay: float = 0.0
    max_gradient_norm: float = 1.0
    evaluate_every: int = 1
    checkpoint_seconds: float = 30.0
    seed: int = 0


@dataclass(frozen=True)
class Evaluated:
    """One evaluation while training.

    Attributes:
        epoch: Epochs done, 0 for the untrained weights.
        score: What the best weights are chosen by; higher is better.
        figures: Whatever else was measured.
        seconds: Of training so far, evaluations included.
    """

    epoch: int
    score: float
    figures: Mapping[str, float]
    seconds: float


@dataclass(frozen=True)
class Event:
    """What a step tells whoever watches: loss terms, learning rate, diagnostics, or a warning in words."""

    step: int
    steps: int
    epoch: int
    terms: Mapping[str, float] = field(default_factory=dict)
    learning_rate: float = 0.0
    evaluated: Evaluated | None = None
    warning: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return asdict(self)


Watch = Callable[[Event], None]


class Task(Protocol):
    """What a method gives to the loop."""

    def begin_epoch(self, epoch: int) -> None:
        """Prepare the data of an epoch; what depends on the weights is remembered by `state`."""
        ...

    def batches(self, epoch: int) -> Sequence[Any]:
        """Return the batches of an epoch; the same again for the same epoch and state."""
        ...

    def steps(self, epochs: int) -> int:
        """Return how many batches there will be in all, for the schedule."""
        ...

    def share(self, batch: Any, *, rank: int, size: int) -> Any:  # noqa: ANN401 - the task's own
        """Return the part of a batch that one of several processes takes."""
        ...

    def loss(self, batch: Any) -> tuple[Tensor, Mapping[str, float]]:  # noqa: ANN401 - the task's own
        """Return the loss to go down on, and terms and diagnostics by name."""
        ...

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Measure the weights as they are; None where there is nothing to measure on."""
        ...

    def state(self) -> Mapping[str, Any]:
        """Return what the task must remember in a checkpoint, of JSON's types."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` returned."""
        ...


@dataclass(frozen=True)
class Fitted:
    """What a training came to.

    Attributes:
        best: The evaluation whose weights are kept; None without evaluations, then the last are kept.
        evaluations: All of them.
        steps: Steps done.
        seconds: Wall time, over all resumptions.
        resumed: Times it was resumed.
    """

    best: Evaluated | None
    evaluations: tuple[Evaluated, ...]
    steps: int
    seconds: float
    resumed: int


def fit(
    task: Task,
    parameters: Mapping[str, Parameter],
    schedule: Schedule,
    *,
    folder: Path | None = None,
    fingerprint: Mapping[str, str] | None = None,
    resume: bool = True,
    patience: int | None = None,
    progress: ProgressCallback | None = None,
    watch: Watch | None = None,
    stop: Callable[[], bool] | None = None,
) -> Fitted:
    """Train, and leave the best weights in `parameters`.

    Args:
        task: The method.
        parameters: What is trained, by name.
        schedule: How.
        folder: Where checkpoints go; None writes none.
        fingerprint: What a checkpoint must be of to be resumed from.
        resume: Whether to go on from a checkpoint that is there.
        patience: Evaluations without a better score after which it stops; None goes through.
        progress: Told how many steps are done.
        watch: Told of every step.
        stop: Asked after every step whether to stop here; a checkpoint is written first.

    Raises:
        TrainingError: If the loss is not finite, there is nothing to train on, or `stop` said so.
        CheckpointError: If the checkpoint is of another training, damaged, or cannot be written.
    """
    run = _Run(task, parameters, schedule, folder=folder, fingerprint=fingerprint or {})
    if resume and folder is not None and (folder / CHECKPOINT).is_file():
        run.resume()
    return run.go(patience=patience, progress=progress, watch=watch or (lambda event: None), stop=stop)


class _Run:
    """The state of one training; see `fit`."""

    def __init__(
        self,
        task: Task,
        parameters: Mapping[str, Parameter],
        schedule: Schedule,
        *,
        folder: Path | None,
        fingerprint: Mapping[str, str],
    ) -> None:
        import torch

        if not parameters:
            raise TrainingError("expected weights to train, found none")
        self.task, self.parameters, self.schedule = task, dict(parameters), schedule
        self.file = None if folder is None else folder / CHECKPOINT
        self.fingerprint = fingerprint
        self.optimizer: AdamW = torch.optim.AdamW(
            list(self.parameters.values()), lr=schedule.learning_rate, weight_decay=schedule.weight_decay
        )
        self.rank, self.size = world()
        self.epoch = self.next_batch = self.step = self.resumed = 0
        self.evaluations: list[Evaluated] = []
        self.best: Evaluated | None = None
        self.best_weights: dict[str, Tensor] = {}
        self.before = 0.0
        self.start = time.perf_counter()
        torch.manual_seed(schedule.seed + 7919 * self.rank)

    @property
    def seconds(self) -> float:
        return self.before + time.perf_counter() - self.start

    def go(
        self,
        *,
        patience: int | None,
        progress: ProgressCallback | None,
        watch: Watch,
        stop: Callable[[], bool] | None,
    ) -> Fitted:
        import torch

        schedule = self.schedule
        if self.step == 0 and not self.evaluations:
            self._evaluate(0, watch, steps=0)
        total: int | None = None
        meter: Meter | None = None
        saved = time.perf_counter()
        for epoch in range(self.epoch, schedule.epochs):
            if self._impatient(patience):
                break
            if self.next_batch == 0:
                self.task.begin_epoch(epoch)
            dealt = self.task.batches(epoch)
            if total is None or meter is None:
                total = self.task.steps(schedule.epochs)
                meter = Meter(max(total, 1), "training", unit="steps", report=progress)
                meter.add(self.step)
            for at in range(self.next_batch, len(dealt)):
                rate = schedule.learning_rate * _factor(self.step, total, schedule.warmup)
                terms = self._step(dealt[at], rate)
                self.step, self.epoch, self.next_batch = self.step + 1, epoch, at + 1
                watch(Event(self.step, total, epoch, terms, rate))
                meter.add(1)
                if stop is not None and stop():
                    self._save()
                    raise TrainingError(f"stopped on request after step {self.step}; resume to go on")
                if time.perf_counter() - saved >= schedule.checkpoint_seconds:
                    self._save()
                    saved = time.perf_counter()
            self.epoch, self.next_batch = epoch + 1, 0
            if (epoch + 1) % schedule.evaluate_every == 0 or epoch + 1 == schedule.epochs:
                self._evaluate(epoch + 1, watch, steps=total)
            self._save()
            saved = time.perf_counter()
        if self.step == 0:
            raise TrainingError("expected batches to train on, found none")
        with torch.no_grad():
            for name, weights in self.best_weights.items():
                self.parameters[name].copy_(weights)
        return Fitted(self.best, tuple(self.evaluations), self.step, self.seconds, self.resumed)

    def _step(self, batch: Any, rate: float) -> dict[str, float]:  # noqa: ANN401 - the task's own
        import torch

        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss, terms = self.task.loss(self.task.share(batch, rank=self.rank, size=self.size))
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(
                f"the loss became {value} at step {self.step + 1} (learning rate {rate:g}); the last "
                "checkpoint is from before it: lower the learning rate, or train in fp32"
            )
        if loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]  # not typed there
        gradients = [p.grad for p in self.parameters.values() if p.grad is not None]
        if self.size > 1:
            for parameter in self.parameters.values():
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
            average([p.grad for p in self.parameters.values() if p.grad is not None], size=self.size)
        norm = 0.0
        if gradients:
            norm = float(
                torch.nn.utils.clip_grad_norm_(
                    list(self.parameters.values()), self.schedule.max_gradient_norm
                )
            )
        if not math.isfinite(norm):
            raise TrainingError(
                f"the gradient became {norm} at step {self.step + 1}; lower the learning rate or use fp32"
            )
        self.optimizer.step()
        return {"loss": value, "gradient_norm": norm, **terms}

    def _evaluate(self, epoch: int, watch: Watch, *, steps: int) -> None:
        measured = self.task.evaluate()
        if measured is None:
            return
        evaluated = Evaluated(epoch, measured[0], dict(measured[1]), self.seconds)
        self.evaluations.append(evaluated)
        # Weights that were never trained are no result, however well they do.
        if epoch and (self.best is None or evaluated.score > self.best.score):
            self.best = evaluated
            self.best_weights = {name: p.detach().clone() for name, p in self.parameters.items()}
        watch(Event(self.step, steps, epoch, evaluated=evaluated))

    def _impatient(self, patience: int | None) -> bool:
        if patience is None or self.best is None:
            return False
        return self.evaluations[-1].epoch - self.best.epoch >= patience * self.schedule.evaluate_every

    def _save(self) -> None:
        if self.file is None or self.rank:
            return
        import torch

        tensors: dict[str, Tensor] = {f"weights.{name}": p for name, p in self.parameters.items()}
        tensors |= {f"best.{name}": weights for name, weights in self.best_weights.items()}
        for name, parameter in self.parameters.items():
            for part, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"adam.{part}.{name}"] = torch.as_tensor(value)
        tensors["random.cpu"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors["random.cuda"] = torch.cuda.get_rng_state()
        state = {
            "epoch": self.epoch,
            "next_batch": self.next_batch,
            "step": self.step,
            "resumed": self.resumed,
            "seconds": self.seconds,
            "evaluations": [asdict(e) for e in self.evaluations],
            "best": self.evaluations.index(self.best) if self.best else None,
            "task": dict(self.task.state()),
        }
        write_checkpoint(self.file, Checkpoint(self.fingerprint, state, tensors))

    def resume(self) -> None:
        import torch

        assert self.file is not None
        checkpoint = read_checkpoint(self.file, fingerprint=self.fingerprint)
        state, tensors = checkpoint.state, checkpoint.tensors
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
        self.task.restore(state["task"])
        torch.set_rng_state(tensors["random.cpu"])
        if "random.cuda" in tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(tensors["random.cuda"])


def _factor(step: int, total: int, warmup: float) -> float:
    """Return the share of the learning rate at a step: linear up, then linear down to 0."""
    rising = max(1, round(total * warmup))
    if step < rising:
        return (step + 1) / rising
    return max(0.0, (total - step) / max(1, total - rising))
