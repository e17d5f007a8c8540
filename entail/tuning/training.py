"""Training of both stages: entailment tuning (Dai et al. 2024), then dense passage retrieval."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from entail.errors import TrainingError
from entail.training.method import Run
from entail.training.run import Setup, Training, prepare, sample_rows
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.examples import EntailedPair, Examples
from entail.tuning.masking import Prompts
from entail.tuning.task import DprTask, MaskedTask
from entail.tuning.tower import MaskedTower, PassageTower

METHOD, DPR_METHOD = "tuning", "dpr"


@dataclass(frozen=True, kw_only=True)
class TuningTraining(Training[TuningConfig]):
    """Result of the first stage, with counts of pairs, pairs left out, truncated premises and steps.

    Attributes:
        new_head: Whether the base's checkpoint had no masked-LM head.
    """

    new_head: bool

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, without the path of the folder."""
        return {**super().to_json(), "new_head": self.new_head}


@dataclass(frozen=True, kw_only=True)
class DprTraining(Training[DprConfig]):
    """Result of the second stage, with counts of questions, passages, hard negatives and steps."""


def train_tuning(
    pairs: Sequence[EntailedPair],
    config: TuningConfig,
    *,
    dev: Sequence[EntailedPair] = (),
    run: Run | None = None,
) -> TuningTraining:
    """Train an encoder to predict masked hypotheses from premises, as a start for `train_dpr`.

    Under `torchrun` all processes train one encoder.

    Args:
        pairs: Training pairs, see `entail.tuning.examples.entailed_pairs`.
        config: Settings.
        dev: Pairs that select the weights by their loss; without them the last weights are kept.
        run: Output folder, device and callbacks.

    Raises:
        TrainingError: If no pair fits, the base cannot have a masked-LM head, the loss is not finite, the
            folder holds something else or is in use, or `stop` returned True.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    setup = prepare(config, run, method=METHOD)
    tower = MaskedTower(
        setup.base,
        **setup.tower,
        max_length=config.max_length,
        seed=config.seed,
    )
    form = Prompts(tower.tokenizer, variant=config.prompt, max_length=tower.max_length, name=setup.base.name)
    prompts = form.of(pairs)
    if not prompts:
        raise TrainingError(
            f"expected pairs of a premise and a hypothesis of at most {tower.max_length} tokens, found "
            f"{len(pairs)} pairs, none of which fits; give more pairs, or a higher max_length"
        )
    tower.set_frequencies(form.frequencies(prompts))
    dev_prompts = form.of(sample_rows(dev, config.dev_pairs))
    task = MaskedTask(config, form, prompts, tower, dev=dev_prompts)
    steps = task.steps(config.epochs)
    fitted = setup.fit(
        task,
        tower.parameters,
        warmup=min(1.0, config.warmup_steps / steps),
        bound_to={"data": _digest(pairs), "dev": _digest(dev)},
    )
    warnings = list(fitted.warnings("loss"))
    if config.warmup_steps >= steps:
        warnings.insert(
            0,
            f"the rate rises for {config.warmup_steps} steps, and there are only {steps}: it never falls; "
            "lower warmup_steps, or give more pairs or epochs",
        )
    training = TuningTraining(
        config=config,
        fitted=fitted,
        counts={
            "pairs": len(prompts),
            "too_long": len(pairs) - len(prompts),
            "premises_cut": sum(prompt.dropped > 0 for prompt in prompts),
            "premise_tokens_dropped": sum(prompt.dropped for prompt in prompts),
            "steps": fitted.steps,
        },
        new_head=tower.new_head,
        warnings=tuple(warnings),
        folder=setup.run.out,
        data=tuple(setup.run.data),
    )
    _save(training, tower, setup)
    return training


def train_dpr(
    examples: Examples,
    config: DprConfig,
    *,
    dev: Examples | None = None,
    run: Run | None = None,
) -> DprTraining:
    """Train a retriever of passages on in-batch and hard negatives.

    Under `torchrun` all processes train one encoder; the negatives of a question are those of its process.

    Args:
        examples: Training questions; `with_hard_negatives` adds hard negatives.
        config: Settings.
        dev: Questions that select the weights by MRR over their own passages; without them the last weights
            are kept.
        run: Output folder, device and callbacks.

    Raises:
        TrainingError: If there are fewer than two questions, `initial` is no adapter on the base, the loss is
            not finite, the folder holds something else or is in use, or `stop` returned True.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If an encoder cannot be loaded.
    """
    if len(examples) < 2:
        raise TrainingError(
            f"expected questions with a gold passage in the pool, at least 2, found {len(examples)} "
            f"({examples.without_gold} without one); are questions and passages of the same release?"
        )
    setup = prepare(config, run, method=DPR_METHOD, initial=config.initial)
    tower, *passage_towers = (
        PassageTower(
            setup.base,
            **setup.tower,
            max_length=config.max_length,
            pooling=config.pooling,
            similarity=config.similarity,
        )
        for _ in range(2 if config.towers == "dual" else 1)
    )
    passages = passage_towers[0] if passage_towers else None
    if dev is not None:
        dev = replace(dev, examples=tuple(sample_rows(dev.examples, config.dev_questions)))
    task = DprTask(config, examples, tower, passages=passages, dev=dev)
    of_passages = {
        f"passages.{name}": parameter for name, parameter in (passages.parameters if passages else {}).items()
    }
    fitted = setup.fit(
        task,
        tower.parameters | of_passages,
        warmup=min(0.1, config.warmup_steps / task.steps(config.epochs)),
        bound_to={"data": examples.digest, "dev": dev.digest if dev else ""},
    )
    warnings = list(fitted.warnings("MRR"))
    if config.negatives and not any(example.negatives for example in examples.examples):
        warnings.insert(0, "no question has a hard negative, only those of its batch; find some by BM25")
    training = DprTraining(
        config=config,
        fitted=fitted,
        counts={**examples.to_json(), "steps": fitted.steps},
        warnings=tuple(warnings),
        folder=setup.run.out,
        data=tuple(setup.run.data),
    )
    _save(training, tower, setup, passages=passages)
    return training


def _save(
    training: TuningTraining | DprTraining,
    tower: PassageTower,
    setup: Setup,
    *,
    passages: PassageTower | None = None,
) -> None:
    """Write an adapter, or a whole model where every weight was trained, without a masked-LM head.

    A first stage is part of the second one's `entail.json`.
    """
    start = setup.initial or setup.base
    tuned: dict[str, Any] = {}
    if start.method == METHOD:
        config = start.card.config if start.card is not None else {}
        tuned = {"tuned": {"revision": start.revision, "config": dict(config)}}
    setup.save(
        training,
        lambda folder: tower.save(folder, passages=passages),
        licence="licence",
        towers="dual" if passages else "siamese",
        **tuned,
    )


def _digest(pairs: Sequence[EntailedPair]) -> str:
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(json.dumps([pair.premise, pair.hypothesis, pair.question]).encode() + b"\n")
    return digest.hexdigest()[:12]
