"""Entailment tuning: predict masked claims from the passages that entail them (Dai et al.)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.encoders.catalogue import fetch, resolve
from entail.errors import TrainingError
from entail.progress import ProgressCallback
from entail.training.distributed import from_first
from entail.training.loop import Fitted
from entail.training.saving import require_place
from entail.training.stage import Training, drawn, fit_method, lora_of
from entail.training.task import Watch
from entail.training.tower import cast_precision, require_base, training_device
from entail.tuning.config import TuningConfig
from entail.tuning.examples import EntailedPair
from entail.tuning.masked_task import MaskedTask
from entail.tuning.masking import Prompts
from entail.tuning.saving import TUNING, save_stage
from entail.tuning.tower import MaskedTower


@dataclass(frozen=True, kw_only=True)
class TuningTraining(Training[TuningConfig]):
    """What a training came to; its counts: pairs, those that do not fit, those whose premise was cut, steps.

    Attributes:
        new_head: Whether the base's checkpoint had no masked-LM head.
    """

    new_head: bool

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, without the folder's place."""
        return {**super().to_json(), "new_head": self.new_head}


def train_tuning(
    pairs: Sequence[EntailedPair],
    config: TuningConfig,
    *,
    dev: Sequence[EntailedPair] = (),
    data: Sequence[str] = (),
    out: Path | None = None,
    work: Path | None = None,
    resume: bool = True,
    checkpoint_seconds: float = 30.0,
    device: str | None = None,
    progress: ProgressCallback | None = None,
    watch: Watch | None = None,
    stop: Callable[[], bool] | None = None,
) -> TuningTraining:
    """Tune an encoder to predict masked hypotheses from premises; what comes out is a start for `train_dpr`.

    Called in each of several processes that `torchrun` started it trains one encoder on all of them.

    Args:
        pairs: What is learnt from, see `entail.tuning.examples.entailed_pairs`.
        config: The settings.
        dev: Pairs to choose the best weights on, by the loss; without them the last are kept.
        data: Names of the data sets for the card (`entail.cards.sources`), such as `squad`.
        out: Folder for the encoder; None keeps nothing. It is written whole at the end, over nothing but an
            encoder of this method. The masked-LM head is not kept.
        work: Folder for checkpoints; default: `out`'s name with `.training`.
        resume: Whether to go on from a checkpoint that is there.
        checkpoint_seconds: Seconds between two checkpoints, beside the one after every epoch.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        progress: Told how far it is.
        watch: Told of every step and evaluation.
        stop: Asked after every step whether to stop there.

    Raises:
        TrainingError: If there is nothing to learn from, the base cannot have a masked-LM head, a loss that
            is not finite, a folder that holds something else, another process at work in it, or it was
            stopped.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    import torch

    if out is not None:
        require_place(out, method=TUNING)
    base = fetch(resolve(config.base))
    require_base(base)
    place = training_device(device)
    torch.manual_seed(config.seed)
    tower = MaskedTower(
        base,
        lora=lora_of(config),
        device=place,
        longest=config.longest,
        precision=cast_precision(config.precision, place),
        dropout=config.dropout,
        hastened=config.head_rate / config.highest_rate,
        seed=config.seed,
    )
    form = Prompts(tower.tokenizer, variant=config.prompt, longest=tower.longest, name=base.name)
    prompts, kept = form.of(pairs)
    if not prompts:
        raise TrainingError(
            f"expected pairs of a premise and a hypothesis of at most {tower.longest} tokens to learn from, "
            f"found {len(pairs)} pairs, none of which fits; give more, or a higher longest"
        )
    tower.expect(form.frequencies(prompts))
    chosen = [dev[i] for i in drawn(len(dev), config.dev_pairs)]
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
        out=out,
        work=work,
        resume=resume,
        checkpoint_seconds=checkpoint_seconds,
        progress=progress,
        watch=watch,
        stop=stop,
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
        data=tuple(data),
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
