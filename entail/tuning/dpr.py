"""The contrastive stage (DPR): from questions with passages to a retriever, with or without tuning before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import TrainingError
from entail.progress import ProgressCallback
from entail.training.distributed import from_first, world
from entail.training.loop import Fitted, Schedule, fit
from entail.training.saving import require_place
from entail.training.task import Watch
from entail.training.tower import Lora, cast_precision, require_base, training_device
from entail.tuning.config import DprConfig
from entail.tuning.dpr_task import DprTask
from entail.tuning.examples import Examples
from entail.tuning.saving import DPR, save_stage
from entail.tuning.tower import PassageTower


@dataclass(frozen=True)
class DprTraining:
    """What a training came to, all its resumptions together.

    Attributes:
        config: Its settings.
        fitted: Evaluations and times.
        counts: What was learnt from: questions, passages, hard negatives, steps.
        warnings: What looked wrong, in words.
        folder: Where the encoder was written; None if it was not.
        data: Names of the data sets, for the card.
    """

    config: DprConfig
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


def train_dpr(
    examples: Examples,
    config: DprConfig,
    *,
    dev: Examples | None = None,
    data: Sequence[str] = (),
    out: Path | None = None,
    work: Path | None = None,
    resume: bool = True,
    checkpoint_seconds: float = 30.0,
    device: str | None = None,
    progress: ProgressCallback | None = None,
    watch: Watch | None = None,
    stop: Callable[[], bool] | None = None,
) -> DprTraining:
    """Train a siamese retriever of passages on in-batch and hard negatives, one loss as in DPR.

    Called in each of several processes that `torchrun` started it trains one encoder on all of them; a
    question then has the passages of its own process as negatives.

    Args:
        examples: What is learnt from; hard negatives are added by `with_hard_negatives`.
        config: The settings.
        dev: Questions to choose the best weights on (MRR over their own passages); without them the last are
            kept.
        data: Names of the data sets for the card (`entail.cards.sources`), such as `squad`.
        out: Folder for the encoder; None keeps nothing. It is written whole at the end, over nothing but an
            encoder of this method.
        work: Folder for checkpoints; default: `out`'s name with `.training`.
        resume: Whether to go on from a checkpoint that is there.
        checkpoint_seconds: Seconds between two checkpoints, beside the one after every epoch.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        progress: Told how far it is.
        watch: Told of every step and evaluation.
        stop: Asked after every step whether to stop there.

    Raises:
        TrainingError: If there is nothing to learn from, `initial` is no adapter on the base, a loss that is
            not finite, a folder that holds something else, another process at work in it, or it was stopped.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If an encoder cannot be loaded.
    """
    import torch

    if len(examples) < 2:
        raise TrainingError(
            f"expected questions with a gold passage in the pool, at least 2, found {len(examples)} "
            f"({examples.without_gold} without one); are questions and passages of the same release?"
        )
    if out is not None:
        require_place(out, method=DPR)
    rank, _ = world()
    base = fetch(resolve(config.base))
    require_base(base)
    initial = _initial(config, base)
    place = training_device(device)
    torch.manual_seed(config.seed)
    tower = PassageTower(
        base,
        lora=Lora(rank=config.rank, alpha=2 * config.rank) if config.tuning == "lora" else None,
        device=place,
        longest=config.longest,
        precision=cast_precision(config.precision, place),
        dropout=config.dropout,
        initial=initial.path if initial else None,
    )
    chosen = _some(dev, config.dev_questions) if dev is not None else None
    task = DprTask(config, examples, tower, dev=chosen)
    steps = task.steps(config.epochs)
    fitted = fit(
        task,
        tower.parameters,
        Schedule(
            epochs=config.epochs,
            learning_rate=config.highest_rate,
            warmup=min(0.1, config.warmup_steps / steps),
            weight_decay=config.weight_decay,
            max_gradient_norm=config.max_gradient_norm,
            evaluate_steps=config.evaluate_every or None,
            checkpoint_seconds=checkpoint_seconds,
            seed=config.seed,
        ),
        folder=work or (out.with_name(f"{out.name}.training") if out else None),
        fingerprint={
            "base": str(base.revision),
            **({"initial": str(initial.revision)} if initial else {}),
            "data": examples.digest,
            "dev": chosen.digest if chosen else "",
            **{f"config.{name}": str(value) for name, value in asdict(config).items()},
        },
        resume=resume,
        progress=None if rank else progress,
        watch=watch,
        stop=stop,
    )
    training = DprTraining(
        config=config,
        fitted=fitted,
        counts={**examples.to_json(), "steps": fitted.steps},
        warnings=_warnings(fitted, examples, config),
        folder=out,
        data=tuple(data),
    )
    if out is not None:
        from_first(
            lambda: save_stage(
                out,
                method=DPR,
                config=config,
                fitted=fitted,
                counts=training.counts,
                data=training.data,
                tower=tower,
                base=base,
                initial=initial,
            )
        )
    return training


def _initial(config: DprConfig, base: EncoderEntry) -> EncoderEntry | None:
    if not config.initial:
        return None
    initial = resolve(config.initial)
    if initial.base is None or initial.base.revision != base.revision:
        raise TrainingError(
            f"expected an adapter on {base.name!r} to go on from, found {initial.name!r}; a model that was "
            "tuned whole is given as base"
        )
    return initial


def _some(dev: Examples, count: int) -> Examples:
    """Draw the questions that weights are chosen on: the same for every seed, to compare seeds."""
    if not count or len(dev) <= count:
        return dev
    chosen = np.sort(np.random.default_rng(0).permutation(len(dev))[:count])
    return replace(dev, examples=tuple(dev.examples[i] for i in chosen))


def _warnings(fitted: Fitted, examples: Examples, config: DprConfig) -> tuple[str, ...]:
    found = []
    alone = sum(not one.negatives for one in examples.examples)
    if config.negatives and alone == len(examples):
        found.append(
            "no question has a hard negative: only the other passages of a batch are; mine some by BM25"
        )
    if fitted.best is not None and fitted.best.score <= fitted.evaluations[0].score:
        found.append(
            f"no weights did better on dev than those at the start (MRR {fitted.best.score:.4f} against "
            f"{fitted.evaluations[0].score:.4f}); look at the learning rate and at the data"
        )
    return tuple(found)
