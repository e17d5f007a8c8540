"""The contrastive stage (DPR): from questions with passages to a retriever, with or without tuning before."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import TrainingError
from entail.training.adapters.saving import require_place
from entail.training.adapters.tower import cast_precision, require_base, training_device
from entail.training.loop.distributed import from_first
from entail.training.loop.fit import Fitted
from entail.training.method import Run, RunOptions
from entail.training.run import fit_method, lora_of, sample_indices
from entail.tuning.config import DprConfig
from entail.tuning.dpr_task import DprTask
from entail.tuning.examples import Examples
from entail.tuning.result import DPR, DprTraining, save_stage
from entail.tuning.tower import PassageTower


def train_dpr(
    examples: Examples,
    config: DprConfig,
    *,
    dev: Examples | None = None,
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> DprTraining:
    """Train a siamese retriever of passages on in-batch and hard negatives, one loss as in DPR.

    Called in each of several processes that `torchrun` started it trains one encoder on all of them; a
    question then has the passages of its own process as negatives.

    Args:
        examples: What is learnt from; hard negatives are added by `with_hard_negatives`.
        config: The settings.
        dev: Questions to choose the best weights on (MRR over their own passages); without them the last are
            kept.
        run: Output folder, device and callbacks.
        options: Fields of `run` as keywords.

    Raises:
        TrainingError: If there is nothing to learn from, `initial` is no adapter on the base, a loss that is
            not finite, a folder that holds something else, another process at work in it, or it was stopped.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If an encoder cannot be loaded.
    """
    import torch

    run = replace(run or Run(), **options)
    out = run.out
    if len(examples) < 2:
        raise TrainingError(
            f"expected questions with a gold passage in the pool, at least 2, found {len(examples)} "
            f"({examples.without_gold} without one); are questions and passages of the same release?"
        )
    if out is not None:
        require_place(out, method=DPR)
    base = fetch(resolve(config.base))
    require_base(base)
    initial = _initial(config, base)
    place = training_device(run.device)
    torch.manual_seed(config.seed)
    tower = PassageTower(
        base,
        lora=lora_of(config),
        device=place,
        max_length=config.max_length,
        precision=cast_precision(config.precision, place),
        dropout=config.dropout,
        initial=initial.path if initial else None,
        pooling=config.pooling,
    )
    chosen = None
    if dev is not None:
        some = sample_indices(len(dev), config.dev_questions)
        chosen = replace(dev, examples=tuple(dev.examples[i] for i in some))
    task = DprTask(config, examples, tower, dev=chosen)
    fitted = fit_method(
        task,
        tower.parameters,
        config,
        base=base,
        evaluate_steps=config.evaluate_every,
        max_gradient_norm=config.max_gradient_norm,
        warmup=min(0.1, config.warmup_steps / task.steps(config.epochs)),
        bound_to={
            **({"initial": str(initial.revision)} if initial else {}),
            "data": examples.digest,
            "dev": chosen.digest if chosen else "",
        },
        run=run,
    )
    training = DprTraining(
        config=config,
        fitted=fitted,
        counts={**examples.to_json(), "steps": fitted.steps},
        warnings=_warnings(fitted, examples, config),
        folder=out,
        data=tuple(run.data),
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
