"""Training of both stages: entailment tuning (Dai et al. 2024), then dense passage retrieval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from entail.errors import TrainingError
from entail.training.method import Run
from entail.training.run import Setup, Training, digest, prepare, sample_rows
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.examples import EntailedPair, Examples
from entail.tuning.masking import Prompts
from entail.tuning.task import DprTask, MaskedTask
from entail.tuning.tower import MaskedTower, PassageTower

METHOD, DPR_METHOD = "tuning", "dpr"


def train_tuning(
    pairs: Sequence[EntailedPair],
    config: TuningConfig,
    *,
    dev: Sequence[EntailedPair] = (),
    run: Run | None = None,
) -> Training[TuningConfig]:
    """Train an encoder to predict masked hypotheses from premises, as a start for `train_dpr`.

    Pairs of dev select the weights by their loss; without them the last weights are kept. The
    result counts pairs, pairs left out, truncated premises and steps;
    `new_head` tells that the base's checkpoint had no masked-LM head.

    Raises:
        TrainingError: If no pair fits, or the base cannot have a masked-LM head; see `prepare`.
    """
    setup = prepare(config, run, method=METHOD)
    tower = MaskedTower(setup.base, **setup.tower, max_length=config.max_length, seed=config.seed)
    form = Prompts(tower.tokenizer, variant=config.prompt, max_length=tower.max_length, name=setup.base.name)
    prompts = form.of(pairs)
    if not prompts:
        raise TrainingError(
            f"expected pairs of a premise and a hypothesis of at most {tower.max_length} tokens, found "
            f"{len(pairs)} pairs, none of which fits; give more pairs, or a higher max_length"
        )
    tower.set_frequencies(form.frequencies(prompts))
    task = MaskedTask(config, form, prompts, tower, dev=form.of(sample_rows(dev, config.dev_pairs)))
    steps = task.steps(config.epochs)
    fitted = setup.fit(
        task,
        tower.parameters,
        warmup=min(1.0, config.warmup_steps / steps),
        bound_to={"data": digest(list(map(astuple, pairs))), "dev": digest(list(map(astuple, dev)))},
    )
    rising = (
        f"the rate rises for {config.warmup_steps} steps, and there are only {steps}: it never falls; lower "
        "warmup_steps, or give more pairs or epochs"
    )
    counts = {
        "pairs": len(prompts),
        "too_long": len(pairs) - len(prompts),
        "premises_cut": sum(prompt.dropped > 0 for prompt in prompts),
        "premise_tokens_dropped": sum(prompt.dropped for prompt in prompts),
        "steps": fitted.steps,
    }
    warnings = [rising] if config.warmup_steps >= steps else []
    training = setup.result(fitted, counts, measure="loss", warnings=warnings, new_head=tower.new_head)
    _save(training, setup, tower.save)
    return training


def train_dpr(
    examples: Examples,
    config: DprConfig,
    *,
    dev: Examples | None = None,
    run: Run | None = None,
) -> Training[DprConfig]:
    """Train a retriever of passages on in-batch and hard negatives; `with_hard_negatives` finds some.

    Questions of dev select the weights by MRR over their own passages; without them the last weights are
    kept.

    Raises:
        TrainingError: If there are fewer than two questions; see `prepare`.
    """
    if len(examples) < 2:
        raise TrainingError(
            f"expected questions with a gold passage in the pool, at least 2, found {len(examples)} "
            f"({examples.without_gold} without one); are questions and passages of the same release?"
        )
    setup = prepare(config, run, method=DPR_METHOD, initial=config.initial)

    def make_tower() -> PassageTower:
        return PassageTower(
            setup.base,
            **setup.tower,
            max_length=config.max_length,
            pooling=config.pooling,
            similarity=config.similarity,
        )

    tower = make_tower()
    passages = make_tower() if config.towers == "dual" else None
    parameters = dict(tower.parameters)
    if passages:
        parameters |= {f"passages.{name}": parameter for name, parameter in passages.parameters.items()}
    if dev is not None:
        dev = replace(dev, examples=tuple(sample_rows(dev.examples, config.dev_questions)))
    task = DprTask(config, examples, tower, passages=passages, dev=dev)
    fitted = setup.fit(
        task,
        parameters,
        warmup=min(0.1, config.warmup_steps / task.steps(config.epochs)),
        bound_to={"data": examples.digest, "dev": dev.digest if dev else ""},
    )
    has_negatives = any(example.negatives for example in examples.examples)
    warning = "no question has a hard negative, only those of its batch; find some by BM25"
    training = setup.result(
        fitted,
        {**examples.to_json(), "steps": fitted.steps},
        measure="MRR",
        warnings=[warning] if config.negatives and not has_negatives else [],
    )
    _save(training, setup, lambda folder: tower.save(folder, passages=passages))
    return training


def _save(training: Training[Any], setup: Setup, write: Callable[[Path], None]) -> None:
    """Write the model; the settings of a first stage are part of the second one's `entail.json`."""
    start = setup.initial or setup.base
    tuned = {"revision": start.revision, "config": dict(start.card.config if start.card else {})}
    setup.save(
        training,
        write,
        licence="licence",
        towers=getattr(training.config, "towers", "siamese"),
        **({"tuned": tuned} if start.method == METHOD else {}),
    )
