"""ARCF training: from questions with their explanations to a scorer, shared loop, checkpoints and all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from entail.arcf.apart_tower import ApartTower
from entail.arcf.config import ArcfConfig
from entail.arcf.explanatory_power import Explanations
from entail.arcf.inputs import Inputs
from entail.arcf.known import Known
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.sampling import Sample, Sampler, learnable
from entail.arcf.saving import save_arcf
from entail.arcf.scorer_form import METHOD, ScorerForm
from entail.arcf.shared_pieces import SharedPieces
from entail.arcf.split_tower import SplitTower
from entail.arcf.task import ArcfTask
from entail.arcf.tower import ScorerTower
from entail.arcf.word_similarity import WordSimilarity
from entail.data.worldtree import Question, missing_gold
from entail.data.worldtree_tables import FactTables
from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import TrainingError
from entail.progress import ProgressCallback
from entail.training.distributed import from_first, world
from entail.training.loop import Fitted
from entail.training.saving import name_of, require_place
from entail.training.stage import Training, drawn, fit_method, lora_of
from entail.training.task import Watch
from entail.training.tower import cast_precision, require_base, training_device

_BALANCED = 20
"""Prefixes by which the bias begins."""


@dataclass(frozen=True, kw_only=True)
class ArcfTraining(Training[ArcfConfig]):
    """What a training came to; its counts: questions, gold facts, facts, steps.

    Attributes:
        form: How the scorer is to be used.
    """

    form: ScorerForm

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, without the folder's place."""
        return {**super().to_json(), "scorer": self.form.to_json()}


def train_arcf(
    questions: Sequence[Question],
    facts: FactTables,
    config: ArcfConfig,
    *,
    dev: Sequence[Question] = (),
    data: Sequence[str] = (),
    out: Path | None = None,
    work: Path | None = None,
    resume: bool = True,
    checkpoint_seconds: float = 60.0,
    device: str | None = None,
    progress: ProgressCallback | None = None,
    watch: Watch | None = None,
    stop: Callable[[], bool] | None = None,
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
        data: Names of the data sets for the card (`entail.cards.sources`), such as `worldtree`.
        out: Folder for the scorer; None keeps nothing. It is written whole at the end, over nothing but a
            scorer.
        work: Folder for checkpoints; default: `out`'s name with `.training`.
        resume: Whether to go on from a checkpoint that is there.
        checkpoint_seconds: Seconds between two checkpoints, beside the one after every epoch.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.
        progress: Told how far it is.
        watch: Told of every step and evaluation.
        stop: Asked after every step whether to stop there.

    Raises:
        TrainingError: If there is nothing to learn from, a loss that is not finite, a folder that holds
            something else, another process at work in it, or it was stopped.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    import torch

    if out is not None:
        require_place(out, method=METHOD)
    rank, _ = world()
    base = fetch(resolve(config.base))
    require_base(base)
    place = training_device(device)
    torch.manual_seed(config.seed)
    tower = _tower(config, base, place)
    near = Neighbourhoods(facts, k=config.k, metric=config.metric, progress=None if rank else progress)
    inputs = Inputs(tower.tokenize, tower.frame, longest=tower.longest, facts=facts.texts)
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
        out=out,
        work=work,
        resume=resume,
        checkpoint_seconds=checkpoint_seconds,
        progress=progress,
        watch=watch,
        stop=stop,
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
            longest=tower.longest,
            k=config.k,
            metric=config.metric,
            stop=config.stop and config.scheme == "arcf",
            reading=config.reading,
            alone=tower.alone if isinstance(tower, SplitTower) else 0,
            shared_pieces=tower.pieces is not None,
            encoder=tower.explanations.encoder if tower.explanations else "",
            similarity=tower.words is not None,
        ),
        warnings=_warnings(fitted, near),
        folder=out,
        data=tuple(data),
    )
    if out is not None:
        from_first(lambda: save_arcf(out, training, tower, base))
    return training


def _tower(config: ArcfConfig, base: EncoderEntry, device: str) -> ScorerTower:
    precision = cast_precision(config.precision, device)
    shared: dict[str, Any] = {"lora": lora_of(config), "device": device, "precision": precision}
    shared |= {"longest": config.longest, "dropout": config.dropout, "seed": config.seed}
    if config.reading == "split":
        return SplitTower(base, alone=config.alone, frozen=config.frozen, **shared)
    if config.reading == "apart":
        return ApartTower(base, **shared)
    return ScorerTower(base, **shared)


def _know(
    tower: ScorerTower,
    config: ArcfConfig,
    questions: Sequence[Question],
    inputs: Inputs,
    facts: FactTables,
    base: EncoderEntry,
) -> Known | None:
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
    return Known(facts, explanations=tower.explanations, words=tower.words)


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
    return [asked[i] for i in drawn(len(asked), config.dev_questions)]


def _dev_samples(
    dev: Sequence[Question],
    config: ArcfConfig,
    inputs: Inputs,
    near: Neighbourhoods,
    known: Known | None,
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
