"""What the trainings of this room share: what one came to, how it is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from entail.index.protocol import Ints
from entail.progress import ProgressCallback
from entail.training.distributed import world
from entail.training.loop import Fitted, Schedule, fit
from entail.training.task import Task, Watch
from entail.training.tower import Lora, Tower
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.judge_config import JudgeConfig

AnyConfig = TuningConfig | DprConfig | JudgeConfig


@dataclass(frozen=True, kw_only=True)
class StageTraining:
    """What a training came to, all its resumptions together.

    Attributes:
        config: Its settings.
        fitted: Evaluations and times.
        counts: What was learnt from.
        warnings: What looked wrong, in words.
        folder: Where the encoder was written; None if it was not.
        data: Names of the data sets, for the card.
    """

    config: AnyConfig
    fitted: Fitted
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    folder: Path | None
    data: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, without the folder's place."""
        return {
            "config": asdict(self.config),
            "fitted": asdict(self.fitted),
            "counts": dict(self.counts),
            "warnings": list(self.warnings),
            "name": self.folder.name if self.folder else None,
        }


def lora_of(config: AnyConfig) -> Lora | None:
    """Return the adapter that is trained; None where every weight is."""
    return Lora(rank=config.rank, alpha=2 * config.rank) if config.tuning == "lora" else None


def fit_stage(
    task: Task,
    tower: Tower,
    config: AnyConfig,
    *,
    warmup: float,
    bound_to: Mapping[str, str],
    out: Path | None,
    work: Path | None,
    resume: bool,
    checkpoint_seconds: float,
    progress: ProgressCallback | None,
    watch: Watch | None,
    stop: Callable[[], bool] | None,
) -> Fitted:
    """Fit the tower to its task; see `train_tuning`, `train_dpr` and `train_judge` for the options.

    Args:
        task: One step.
        tower: What learns.
        config: The settings.
        warmup: Share of all steps in which the rate rises.
        bound_to: What a checkpoint is bound to, beside the settings.
        out: Folder for the encoder.
        work: Folder for checkpoints; default: `out`'s name with `.training`.
        resume: Whether to go on from a checkpoint.
        checkpoint_seconds: Seconds between two.
        progress: Told how far it is.
        watch: Told of every step and evaluation.
        stop: Asked after every step whether to stop there.
    """
    rank, _ = world()
    return fit(
        task,
        tower.parameters,
        Schedule(
            epochs=config.epochs,
            learning_rate=config.highest_rate,
            warmup=warmup,
            weight_decay=config.weight_decay,
            max_gradient_norm=config.max_gradient_norm,
            evaluate_steps=config.evaluate_every or None,
            checkpoint_seconds=checkpoint_seconds,
            seed=config.seed,
        ),
        folder=work or (out.with_name(f"{out.name}.training") if out else None),
        fingerprint={
            "base": str(tower.base.revision),
            **bound_to,
            **{f"config.{name}": str(value) for name, value in asdict(config).items()},
        },
        resume=resume,
        progress=None if rank else progress,
        watch=watch,
        stop=stop,
    )


def drawn(size: int, count: int) -> Ints:
    """Return which of dev the weights are chosen on: the same for every seed, to compare seeds.

    >>> drawn(3, 0).tolist()
    [0, 1, 2]

    Args:
        size: How many there are.
        count: How many are wanted; 0 for all.
    """
    if not count or size <= count:
        return np.arange(size)
    return np.sort(np.random.default_rng(0).permutation(size)[:count])
