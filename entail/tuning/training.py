"""Entailment tuning: predict masked claims from the passages that entail them (Dai et al.)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from entail.encoders.catalogue import fetch, resolve
from entail.errors import TrainingError
from entail.training.adapters.saving import require_place
from entail.training.adapters.tower import cast_precision, require_base, training_device
from entail.training.loop.distributed import from_first
from entail.training.loop.fit import Fitted
from entail.training.method import Run, RunOptions
from entail.training.run import fit_method, lora_of, sample_indices
from entail.tuning.config import TuningConfig
from entail.tuning.examples import EntailedPair
from entail.tuning.masked_task import MaskedTask
from entail.tuning.masking import Prompts
from entail.tuning.result import TUNING, TuningTraining, save_stage
from entail.tuning.tower import MaskedTower


def train_tuning(
    pairs: Sequence[EntailedPair],
    config: TuningConfig,
    *,
    dev: Sequence[EntailedPair] = (),
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> TuningTraining:
    """Tune an encoder to predict masked hypotheses from premises; what comes out is a start for `train_dpr`.

    Called in each of several processes that `torchrun` started it trains one encoder on all of them.

    Args:
        pairs: What is learnt from, see `entail.tuning.examples.entailed_pairs`.
        config: The settings.
        dev: Pairs to choose the best weights on, by the loss; without them the last are kept.
        run: Output folder, device and callbacks.
        options: Fields of `run` as keywords.

    Raises:
        TrainingError: If there is nothing to learn from, the base cannot have a masked-LM head, a loss that
            is not finite, a folder that holds something else, another process at work in it, or it was
            stopped.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    import torch

    run = replace(run or Run(), **options)
    out = run.out
    if out is not None:
        require_place(out, method=TUNING)
    base = fetch(resolve(config.base))
    require_base(base)
    place = training_device(run.device)
    torch.manual_seed(config.seed)
    tower = MaskedTower(
        base,
        lora=lora_of(config),
        device=place,
        max_length=config.max_length,
        precision=cast_precision(config.precision, place),
        dropout=config.dropout,
        hastened=config.head_rate / config.highest_rate,
        seed=config.seed,
    )
    form = Prompts(tower.tokenizer, variant=config.prompt, max_length=tower.max_length, name=base.name)
    prompts, kept = form.of(pairs)
    if not prompts:
        raise TrainingError(
            f"expected pairs of a premise and a hypothesis of at most {tower.max_length} tokens, found "
            f"{len(pairs)} pairs, none of which fits; give more pairs, or a higher max_length"
        )
    tower.expect(form.frequencies(prompts))
    chosen = [dev[i] for i in sample_indices(len(dev), config.dev_pairs)]
    task = MaskedTask(config, form, prompts, tower, dev=form.of(chosen)[0])
    steps = task.steps(config.epochs)
    fitted = fit_method(
        task,
        tower.parameters,
        config,
        base=base,
        evaluate_steps=config.evaluate_every,
        max_gradient_norm=config.max_gradient_norm,
        warmup=min(1.0, config.warmup_steps / steps),
        bound_to={"data": digest(pairs), "dev": digest(dev)},
        run=run,
    )
    cut = sum(prompt.dropped > 0 for prompt in prompts)
    training = TuningTraining(
        config=config,
        fitted=fitted,
        counts={
            "pairs": len(kept),
            "too_long": len(pairs) - len(kept),
            "premises_cut": cut,
            "premise_tokens_dropped": sum(prompt.dropped for prompt in prompts),
            "steps": fitted.steps,
        },
        new_head=tower.new_head,
        warnings=_warnings(fitted, steps, config),
        folder=out,
        data=tuple(run.data),
    )
    if out is not None:
        from_first(
            lambda: save_stage(
                out,
                method=TUNING,
                config=config,
                fitted=fitted,
                counts=training.counts,
                data=training.data,
                tower=tower,
                base=base,
            )
        )
    return training


def digest(pairs: Sequence[EntailedPair]) -> str:
    """Return 12 hexadecimal digits that change with any pair: what a checkpoint is bound to."""
    found = hashlib.sha256()
    for pair in pairs:
        found.update(json.dumps([pair.premise, pair.hypothesis, pair.question]).encode() + b"\n")
    return found.hexdigest()[:12]


def _warnings(fitted: Fitted, steps: int, config: TuningConfig) -> tuple[str, ...]:
    found = []
    if config.warmup_steps >= steps:
        found.append(
            f"the rate rises for {config.warmup_steps} steps, and there are only {steps}: it never falls; "
            "lower warmup_steps, or give more pairs or epochs"
        )
    if fitted.best is not None and fitted.best.score <= fitted.evaluations[0].score:
        found.append(
            f"no weights did better on dev than the untrained ones (loss {-fitted.best.score:.4f} against "
            f"{-fitted.evaluations[0].score:.4f}); look at the learning rate and at the data"
        )
    return tuple(found)
