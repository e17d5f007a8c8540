"""Start, fitting and result of a training, shared by all methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import TrainingError
from entail.index.protocol import Ints
from entail.training.adapters.saving import name_of, require_place, save_encoder
from entail.training.adapters.tower import (
    Lora,
    TowerOptions,
    cast_precision,
    require_base,
    training_device,
)
from entail.training.config import TrainingConfig
from entail.training.loop.distributed import from_first, world
from entail.training.loop.fit import Fitted, Schedule, fit
from entail.training.loop.task import Task
from entail.training.method import Run

if TYPE_CHECKING:
    from torch.nn import Parameter


C = TypeVar("C", bound=TrainingConfig)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Base, initial adapter on it, and arguments of the towers."""

    base: EncoderEntry
    initial: EncoderEntry | None
    tower: TowerOptions

    @property
    def fingerprint(self) -> dict[str, str]:
        """Identity of the initial adapter, for `fit_method`."""
        return {"initial": str(self.initial.revision)} if self.initial else {}


def prepare(config: TrainingConfig, run: Run, *, method: str, initial: str = "") -> Setup:
    """Check the output folder, resolve the base and the initial adapter by name, and seed torch.

    Raises:
        TrainingError: If the folder holds anything else, the base cannot be trained on, or `initial` is no
            adapter on it.
        EncoderError: If the base cannot be loaded.
    """
    import torch

    if run.out is not None:
        require_place(run.out, method=method)
    base = fetch(resolve(config.base))
    require_base(base)
    adapter = resolve(initial) if initial else None
    if adapter is not None and (adapter.base is None or adapter.base.revision != base.revision):
        raise TrainingError(
            f"initial: expected an adapter on {base.name!r}, found {adapter.name!r}; a whole model is a base"
        )
    device = training_device(run.device)
    torch.manual_seed(config.seed)
    tower = TowerOptions(
        lora=lora_of(config),
        device=device,
        precision=cast_precision(config.precision, device),
        dropout=config.dropout,
        initial=adapter.path if adapter else None,
    )
    return Setup(base=base, initial=adapter, tower=tower)


@dataclass(frozen=True, kw_only=True)
class Training(Generic[C]):
    """Result of a training over all its resumptions; methods add fields.

    Attributes:
        counts: Sizes of the training data by name.
        folder: Folder of the model; None if it was not written.
        data: Names of the data sets, for the card.
    """

    config: C
    fitted: Fitted
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    folder: Path | None
    data: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, without the path of the folder."""
        return {
            "config": asdict(self.config),
            "fitted": asdict(self.fitted),
            "counts": dict(self.counts),
            "warnings": list(self.warnings),
            "name": self.folder.name if self.folder else None,
        }


def save_training(
    training: Training[Any],
    write: Callable[[Path], None],
    base: EncoderEntry,
    *,
    method: str,
    entries: Mapping[str, Any],
    licence: str = "base_licence",
) -> None:
    """Write the model of a training and its `entail.json` by the first process; nothing without a folder.

    Args:
        training: Result of the training.
        write: Writes the weights into a new folder.
        base: Start of the weights.
        method: Name of the method.
        entries: Entries of `entail.json` of the method; they replace those of all methods.
        licence: Key of the licence of the base.

    Raises:
        TrainingError: If the folder holds something else, or cannot be written; the old one stays.
    """
    if (folder := training.folder) is None:
        return
    config, best = training.config, training.fitted.best
    started = (
        {"base": name_of(base), "base_revision": base.revision}
        if config.tuning == "lora"
        else {"trained_from": base.name}
    )
    record = {
        "method": method,
        **started,
        "figures": {"dev": dict(best.figures), "epoch": best.epoch, "step": best.step} if best else {},
        "config": asdict(config),
        "trained_on": {**training.counts, **({"data": list(training.data)} if training.data else {})},
        licence: base.licence,
        **entries,
    }
    from_first(lambda: save_encoder(folder, method=method, write=write, about=lambda: record))


def lora_of(config: TrainingConfig) -> Lora | None:
    """Return the form of the trained adapter; None where every weight is trained."""
    return Lora(rank=config.rank, alpha=2 * config.rank) if config.tuning == "lora" else None


def fit_method(
    task: Task,
    parameters: Mapping[str, Parameter],
    config: TrainingConfig,
    *,
    base: EncoderEntry,
    bound_to: Mapping[str, str],
    run: Run,
    epochs: int | None = None,
    warmup: float = Schedule.warmup,
    max_gradient_norm: float = Schedule.max_gradient_norm,
    evaluate_steps: int | None = None,
    patience: int | None = None,
) -> Fitted:
    """Fit weights to the task of a method.

    Args:
        task: Batches, loss and evaluation.
        parameters: Trained weights by name.
        config: TrainingConfig; a checkpoint is bound to all of them.
        base: Start of the weights; a checkpoint is bound to its revision.
        bound_to: Further names and values that a checkpoint is bound to.
        run: Output folder, device and callbacks.
        epochs: Number of epochs; default: that of the settings.
        warmup: Share of all steps in which the learning rate rises.
        max_gradient_norm: Maximum gradient norm.
        evaluate_steps: Steps between two evaluations within an epoch; None or 0 for none.
        patience: Evaluations without a better score before it stops; None never stops early.
    """
    rank, _ = world()
    return fit(
        task,
        parameters,
        Schedule(
            epochs=config.epochs if epochs is None else epochs,
            learning_rate=config.highest_rate,
            warmup=warmup,
            weight_decay=config.weight_decay,
            max_gradient_norm=max_gradient_norm,
            evaluate_steps=evaluate_steps or None,
            checkpoint_seconds=run.checkpoint_seconds,
            seed=config.seed,
        ),
        folder=run.checkpoints,
        fingerprint={
            "base": str(base.revision),
            **bound_to,
            **{f"config.{name}": str(value) for name, value in asdict(config).items()},
        },
        resume=run.resume,
        patience=patience,
        progress=None if rank else run.progress,
        watch=run.watch,
        stop=run.stop,
    )


def sample_indices(size: int, count: int) -> Ints:
    """Sample `count` of `size` dev examples (0: all), the same for every seed, so that seeds compare.

    >>> sample_indices(3, 0).tolist()
    [0, 1, 2]
    """
    if not count or size <= count:
        return np.arange(size)
    return np.sort(np.random.default_rng(0).permutation(size)[:count])
