"""ARCF training: from questions with their explanations to a scorer, shared loop, checkpoints and all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.config import ArcfConfig
from entail.arcf.result import ArcfTraining, save_arcf
from entail.arcf.sampling import Sample, Sampler, learnable
from entail.arcf.scoring.explanatory_power import Explanations
from entail.arcf.scoring.form import METHOD, ScorerForm
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.priors import PremisePriors
from entail.arcf.scoring.terms import SharedPieces, WordSimilarity
from entail.arcf.task import ArcfTask
from entail.arcf.tower import BiEncoderTower, ScorerTower
from entail.data.worldtree.questions import Question, missing_gold
from entail.data.worldtree.tables import FactTables
from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import TrainingError
from entail.training.adapters.saving import name_of, require_place
from entail.training.adapters.tower import cast_precision, require_base, training_device
from entail.training.loop.distributed import from_first, world
from entail.training.loop.fit import Fitted
from entail.training.method import Run, RunOptions
from entail.training.run import fit_method, lora_of, sample_indices

_BALANCED = 20
"""Prefixes by which the bias begins."""


def train_arcf(
    questions: Sequence[Question],
    facts: FactTables,
    config: ArcfConfig,
    *,
    dev: Sequence[Question] = (),
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> ArcfTraining:
    """Train a scorer of facts on questions with known explanations.

    The best weights are those of the highest step MAP on dev, see `entail.arcf.task.step_figures`.

    Called in each of several processes that `torchrun` started it trains one scorer on all of them, which
    share the prefixes of a step.

    Args:
        questions: What is learnt from; those without gold in the tables are left out.
        facts: All facts.
        config: The settings.
        dev: Questions to choose the best weights on; without them the last are kept.
        run: Output folder, device and callbacks.
        options: Fields of `run` as keywords.

    Raises:
        TrainingError: If there is nothing to learn from, a loss that is not finite, a folder that holds
            something else, another process at work in it, or it was stopped.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    import torch

    run = replace(run or Run(), **options)
    out = run.out
    if out is not None:
        require_place(out, method=METHOD)
    rank, _ = world()
    base = fetch(resolve(config.base))
    require_base(base)
    place = training_device(run.device)
    torch.manual_seed(config.seed)
    tower = _tower(config, base, place)
    near = Neighbourhoods(facts, k=config.k, metric=config.metric, progress=None if rank else run.progress)
    inputs = Inputs(tower.tokenize, tower.frame, max_length=tower.max_length, facts=facts.texts)
    known = _know(tower, config, questions, inputs, facts, base)
    learnt = learnable(questions, inputs, near, known=known)
    chosen = _some(dev, config)
    sampler = Sampler(config, learnt, inputs, near)
    if config.loss == "bxent":
        _balance(tower, sampler)
    fitted = fit_method(
        ArcfTask(
            config,
            sampler,
            tower,
            dev=_dev_samples(chosen, config, inputs, near, known) if chosen else None,
        ),
        tower.parameters,
        config,
        base=base,
        bound_to={"facts": facts.digest, "questions": _digest(questions), "dev": _digest(chosen)},
        evaluate_steps=config.evaluate_every,
        warmup=config.warmup,
        run=run,
    )
    missing = missing_gold(questions, facts)
    training = ArcfTraining(
        config=config,
        fitted=fitted,
        counts={
            "questions": len(learnt),
            "gold facts": sum(len(one.gold) for one in learnt),
            "gold facts in no table": len(missing),
            "facts": len(facts),
            "steps": fitted.steps,
        },
        form=ScorerForm(
            scheme=config.scheme,
            max_length=tower.max_length,
            k=config.k,
            metric=config.metric,
            stop=config.stop and config.scheme == "arcf",
            reading=config.reading,
            shared_pieces=tower.pieces is not None,
            encoder=tower.explanations.encoder if tower.explanations else "",
            similarity=tower.words is not None,
        ),
        warnings=_warnings(fitted, near),
        folder=out,
        data=tuple(run.data),
    )
    if out is not None:
        from_first(lambda: save_arcf(out, training, tower, base))
    return training


def _tower(config: ArcfConfig, base: EncoderEntry, device: str) -> ScorerTower:
    precision = cast_precision(config.precision, device)
    shared: dict[str, Any] = {"lora": lora_of(config), "device": device, "precision": precision}
    shared |= {"max_length": config.max_length, "dropout": config.dropout, "seed": config.seed}
    return (BiEncoderTower if config.reading == "apart" else ScorerTower)(base, **shared)


def _know(
    tower: ScorerTower,
    config: ArcfConfig,
    questions: Sequence[Question],
    inputs: Inputs,
    facts: FactTables,
    base: EncoderEntry,
) -> PremisePriors | None:
    """Let a tower know what the settings ask for; return what is known of facts behind a question of it."""
    if config.shared_pieces:
        tower.know_pieces(SharedPieces.of(inputs.candidates), weight=config.shared_pieces)
    if config.power:
        explanations = Explanations.of(questions, facts, encoder=name_of(base))
        tower.know_explanations(explanations, weight=config.power)
    if config.similarity:
        tower.know_words(WordSimilarity.of(facts.texts), weight=config.similarity)
    if tower.explanations is None and tower.words is None:
        return None
    return PremisePriors(facts, explanations=tower.explanations, words=tower.words)


def _balance(tower: ScorerTower, sampler: Sampler) -> None:
    """Shift all scores so that as many are above 0, a chance of a half, as there are positives.

    bXENT asks for chances, and scores begin as they order facts, all far above 0: a learning rate for an
    adapter moves the bias too little in a whole training.
    """
    import torch

    samples = sampler.epoch(0)[:_BALANCED]
    scores = np.concatenate([tower.score(*sampler.asked(sample)) for sample in samples])
    positives = sum(sample.positives for sample in samples)
    with torch.no_grad():
        tower.head.bias.sub_(float(np.sort(scores)[-positives]))


def _some(dev: Sequence[Question], config: ArcfConfig) -> list[Question]:
    """Draw the questions that weights are chosen on: the same for every seed, to compare seeds."""
    asked = [question for question in dev if question.gold]
    if dev and not asked:
        raise TrainingError(
            f"expected dev questions with explanations, found none of {len(dev)}; give a file "
            "that is not blind"
        )
    return [asked[i] for i in sample_indices(len(asked), config.dev_questions)]


def _dev_samples(
    dev: Sequence[Question],
    config: ArcfConfig,
    inputs: Inputs,
    near: Neighbourhoods,
    known: PremisePriors | None,
) -> tuple[Sampler, list[Sample]]:
    """Draw one prefix a dev question, the same for every seed."""
    plain = replace(config, seed=0, noise=False, negatives="visible", prefixes=1)
    sampler = Sampler(plain, learnable(dev, inputs, near, known=known), inputs, near)
    return sampler, sampler.epoch(0)


def _warnings(fitted: Fitted, near: Neighbourhoods) -> tuple[str, ...]:
    found = []
    if fitted.best is not None and fitted.evaluations and fitted.best.score <= fitted.evaluations[0].score:
        found.append(
            f"no weights did better on dev than the untrained ones (step MAP {fitted.best.score:.4f} against "
            f"{fitted.evaluations[0].score:.4f}); look at the learning rate and at the data"
        )
    if near.k == len(near.facts):
        found.append(f"k is not below the number of facts, {near.k}: every fact is always visible")
    return tuple(found)


def _digest(questions: Sequence[Question]) -> str:
    told = [[q.id, q.stem, q.answer, dict(q.gold)] for q in questions]
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode()).hexdigest()[:12]
