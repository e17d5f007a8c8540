"""Start, fitting and result of a training, shared by all methods."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.encoders.device import device_name
from entail.errors import TrainingError
from entail.training.adapters.saving import name_of, require_destination, save_encoder
from entail.training.adapters.tower import (
    Lora,
    TowerOptions,
    cast_precision,
    require_base,
)
from entail.training.config import TrainingConfig
from entail.training.loop.fit import Fitted, fit
from entail.training.loop.task import Schedule, Task
from entail.training.method import Run

if TYPE_CHECKING:
    from torch.nn import Parameter


C = TypeVar("C", bound=TrainingConfig)
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Start of a training: its checked arguments, the base, an initial adapter, and options of the towers."""

    method: str
    config: TrainingConfig
    run: Run
    base: EncoderEntry
    initial: EncoderEntry | None
    tower: TowerOptions

    def fit(
        self,
        task: Task,
        parameters: Mapping[str, Parameter],
        *,
        bound_to: Mapping[str, str],
        **changes: float,
    ) -> Fitted:
        """Fit weights by name to the task of the method, by the settings' schedule with some changes.

        A checkpoint is bound to base, initial adapter, settings and the names and values of `bound_to`.
        """
        config, run = self.config, self.run
        schedule = Schedule(
            epochs=config.epochs,
            learning_rate=config.highest_rate,
            warmup=config.warmup,
            weight_decay=config.weight_decay,
            max_gradient_norm=config.max_gradient_norm,
            evaluate_steps=config.evaluate_every,
            checkpoint_seconds=run.checkpoint_seconds,
            seed=config.seed,
        )
        fingerprint = {
            "base": str(self.base.revision),
            **({"initial": str(self.initial.revision)} if self.initial else {}),
            **bound_to,
            **{f"config.{name}": str(value) for name, value in asdict(config).items()},
        }
        return fit(
            task,
            parameters,
            replace(schedule, **changes),  # type: ignore[arg-type]  # of its fields
            folder=run.checkpoints,
            fingerprint=fingerprint,
            resume=run.resume,
            progress=run.progress,
            watch=run.watch,
            stop=run.stop,
        )

    def result(
        self,
        fitted: Fitted,
        counts: Mapping[str, int],
        *,
        measure: str,
        warnings: Iterable[str] = (),
        data: Iterable[str] = (),
        **further: object,
    ) -> Training[Any]:
        """Return the result of a training, with a warning if its measure did not rise on dev.

        `data` are names of data sets that the initial model was trained on; `further` are JSON values.
        """
        return Training(
            config=self.config,
            fitted=fitted,
            counts=counts,
            warnings=(*warnings, *fitted.warnings(measure)),
            folder=self.run.out,
            data=tuple(dict.fromkeys((*data, *self.run.data))),
            further=further,
        )

    def save(
        self,
        training: Training[Any],
        write: Callable[[Path], None],
        *,
        licence: str = "base_licence",
        trained_on: Mapping[str, Any] | None = None,
        **entries: object,
    ) -> None:
        """Write the model of a training and its `entail.json` ; nothing without a folder.

        `write` writes the weights into a new folder. `licence` is the key of the licence of the base,
        `trained_on` are further counts of the training data, and `entries` those of `entail.json` of the
        method, which replace those of all methods.
        """
        if (folder := training.folder) is None:
            return
        config, base, best = training.config, self.base, training.fitted.best
        started = (
            {"base": name_of(base), "base_revision": base.revision}
            if config.tuning == "lora"
            else {"trained_from": base.name}
        )
        about = {
            "method": self.method,
            **started,
            "figures": {"dev": dict(best.figures), "epoch": best.epoch, "step": best.step} if best else {},
            "config": asdict(config),
            "trained_on": {
                **training.counts,
                **(trained_on or {}),
                **({"data": list(training.data)} if training.data else {}),
            },
            licence: base.licence,
            **entries,
        }
        save_encoder(folder, method=self.method, write=write, about=about)


def prepare(config: TrainingConfig, run: Run | None, *, method: str, initial: str = "") -> Setup:
    """Check the output folder, resolve the base and the initial adapter by name, and seed torch.

    Raises:
        TrainingError: If the folder holds anything else or is in use, the base cannot be trained on,
            `initial` is no adapter on it, the loss is not finite, or `stop` returned True.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If an encoder cannot be loaded.
    """
    import torch

    run = run or Run()
    if run.out is not None:
        require_destination(run.out, method=method)
    base = fetch(resolve(config.base))
    require_base(base)
    adapter = resolve(initial) if initial else None
    if adapter is not None and (
        adapter.base is None or adapter.base.revision != base.revision or adapter.own_modules
    ):
        raise TrainingError(
            f"initial: expected an adapter on {base.name!r} without modules of its own, found "
            f"{adapter.name!r}; a whole model is a base"
        )
    device = device_name(run.device)
    torch.manual_seed(config.seed)
    tower = TowerOptions(
        lora=Lora(rank=config.rank, alpha=2 * config.rank) if config.tuning == "lora" else None,
        device=device,
        precision=cast_precision(config.precision, device),
        dropout=config.dropout,
        initial=adapter.path if adapter else None,
    )
    return Setup(method=method, config=config, run=run, base=base, initial=adapter, tower=tower)


@dataclass(frozen=True, kw_only=True)
class Training(Generic[C]):
    """Result of a training over all its resumptions.

    `counts` are sizes of the training data, `data` names of data sets, `further` results of the method alone.
    """

    config: C
    fitted: Fitted
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    folder: Path | None
    data: tuple[str, ...] = ()
    further: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, without the path of the folder."""
        return {
            "config": asdict(self.config),
            "fitted": asdict(self.fitted),
            "counts": dict(self.counts),
            "warnings": list(self.warnings),
            "name": self.folder.name if self.folder else None,
            **self.further,
        }


def digest(rows: object) -> str:
    """Return a digest of JSON values; a checkpoint is bound to those of its data.

    >>> digest([["it rains", "it is wet"]])
    '18a376395404'
    """
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()[:12]


def sample_rows(rows: Sequence[T], count: int) -> list[T]:
    """Sample `count` dev examples in their order (0: all), the same for every seed, so that seeds compare.

    >>> sample_rows("abc", 0)
    ['a', 'b', 'c']
    """
    if not count or len(rows) <= count:
        return list(rows)
    return [rows[at] for at in np.sort(np.random.default_rng(0).permutation(len(rows))[:count])]
