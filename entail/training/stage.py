"""What the trainings of all methods share: what one came to, how its weights are fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

import numpy as np

from entail.encoders.catalogue import EncoderEntry
from entail.index.protocol import Ints
from entail.progress import ProgressCallback
from entail.training.distributed import world
from entail.training.loop import Fitted, Schedule, fit
from entail.training.task import Task, Watch
from entail.training.tower import Lora

if TYPE_CHECKING:
    from torch.nn import Parameter


class Settings(Protocol):
    """What the config dataclass of every method says."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def epochs(self) -> int:
        """Times through the data."""
        ...

    @property
    def highest_rate(self) -> float:
        """The learning rate at its highest."""
        ...

    @property
    def weight_decay(self) -> float:
        """Of AdamW."""
        ...

    @property
    def seed(self) -> int:
        """Of everything random."""
        ...


C = TypeVar("C", bound=Settings)


class Adapted(Protocol):
    """What a config says of the weights that learn."""

    @property
    def tuning(self) -> Literal["lora", "full"]:
        """An adapter, or every weight."""
        ...

    @property
    def rank(self) -> int:
        """Of the adapter."""
        ...


@dataclass(frozen=True, kw_only=True)
class Training(Generic[C]):
    """What a training came to, all its resumptions together; methods add to it.

    Attributes:
        config: Its settings.
        fitted: Evaluations and times.
        counts: What was learnt from.
        warnings: What looked wrong, in words.
        folder: Where the encoder was written; None if it was not.
        data: Names of the data sets, for the card.
    """

    config: C
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


def lora_of(config: Adapted) -> Lora | None:
    """Return the adapter that is trained; None where every weight is."""
    return Lora(rank=config.rank, alpha=2 * config.rank) if config.tuning == "lora" else None


def fit_method(
    task: Task,
    parameters: Mapping[str, Parameter],
    config: Settings,
    *,
    base: EncoderEntry,
    bound_to: Mapping[str, str],
    out: Path | None,
    work: Path | None,
    resume: bool,
    checkpoint_seconds: float,
    progress: ProgressCallback | None,
    watch: Watch | None,
    stop: Callable[[], bool] | None,
    epochs: int | None = None,
    warmup: float = Schedule.warmup,
    max_gradient_norm: float = Schedule.max_gradient_norm,
    evaluate_steps: int | None = None,
    patience: int | None = None,
) -> Fitted:
    """Fit weights to a method's task; see the methods' trainings for the options.

    Args:
        task: One step.
        parameters: What is trained, by name.
        config: The settings; a checkpoint is bound to every one of them.
        base: Where the weights started; a checkpoint is bound to its revision.
        bound_to: What else a checkpoint is bound to.
        out: Folder for the encoder.
        work: Folder for checkpoints; default: `out`'s name with `.training`.
        resume: Whether to go on from a checkpoint.
        checkpoint_seconds: Seconds between two.
        progress: Told how far it is.
        watch: Told of every step and evaluation.
        stop: Asked after every step whether to stop there.
        epochs: Times through the data in all; default: as the settings say.
        warmup: Share of all steps in which the rate rises.
        max_gradient_norm: Longer gradients are cut to this length.
        evaluate_steps: Steps between two further evaluations within epochs; None or 0 for none.
        patience: Evaluations without a better score after which it stops; None goes through.
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
            checkpoint_seconds=checkpoint_seconds,
            seed=config.seed,
        ),
        folder=work or (out.with_name(f"{out.name}.training") if out else None),
        fingerprint={
            "base": str(base.revision),
            **bound_to,
            **{f"config.{name}": str(value) for name, value in asdict(config).items()},
        },
        resume=resume,
        patience=patience,
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
