"""Training of a scorer of premises on questions with known explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.config import ArcfConfig
from entail.arcf.sampling import Sample, Sampler, prepare_questions
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.priors import Explanations, PremisePriors
from entail.arcf.scoring.scorer import METHOD, ScorerForm
from entail.arcf.scoring.terms import SharedPieces, WordSimilarity
from entail.arcf.task import ArcfTask
from entail.arcf.tower import BiEncoderTower, ScorerTower
from entail.data.worldtree.questions import Question, missing_gold
from entail.data.worldtree.tables import FactTables
from entail.encoders.catalogue import EncoderEntry
from entail.errors import TrainingError
from entail.training.adapters.saving import name_of
from entail.training.method import Run, RunOptions
from entail.training.run import Training, digest, prepare, sample_rows

_BALANCED = 20
"""Prefixes that determine the initial bias."""


@dataclass(frozen=True, kw_only=True)
class ArcfTraining(Training[ArcfConfig]):
    """Result of a training, with counts of questions, gold premises, premises and steps.

    Attributes:
        form: Settings of the scorer.
    """

    form: ScorerForm

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, without the path of the folder."""
        return {**super().to_json(), "scorer": self.form.to_json()}


def train_arcf(
    questions: Sequence[Question],
    facts: FactTables,
    config: ArcfConfig,
    *,
    dev: Sequence[Question] = (),
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> ArcfTraining:
    """Train a scorer of premises on questions with known explanations.

    The best weights are those of the highest step MAP on dev, see `entail.arcf.task.step_figures`. Processes
    started by `torchrun` train one scorer together and share the prefixes of a step.

    Args:
        questions: Training questions; those without gold in the tables are left out.
        facts: All premises.
        config: Settings.
        dev: Questions that choose the best weights; without them the last are kept.
        run: Output folder, device and callbacks.
        options: Fields of `run` as keywords.

    Raises:
        TrainingError: If there is no training question, a loss is not finite, the folder holds something
            else or is in use by another process, or the training was stopped.
        CheckpointError: If a checkpoint has another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    setup = prepare(config, run, options, method=METHOD)
    tower = (BiEncoderTower if config.reading == "apart" else ScorerTower)(
        setup.base,
        max_length=config.max_length,
        seed=config.seed,
        **setup.tower,
    )
    near = Neighbourhoods(facts, k=config.k, metric=config.metric, progress=setup.run.progress)
    inputs = Inputs(tower.tokenize, tower.frame, max_length=tower.max_length, facts=facts.texts)
    priors = _add_terms(tower, config, questions, inputs, facts, setup.base)
    prepared = prepare_questions(questions, inputs, near, priors=priors)
    dev_questions = _dev_questions(dev, config)
    sampler = Sampler(config, prepared, inputs, near)
    if config.loss == "bxent":
        _balance(tower, sampler)
    fitted = setup.fit(
        ArcfTask(
            config,
            sampler,
            tower,
            dev=_dev_samples(dev_questions, config, inputs, near, priors) if dev_questions else None,
        ),
        tower.parameters,
        bound_to={"facts": facts.digest, "questions": _digest(questions), "dev": _digest(dev_questions)},
    )
    warnings = list(fitted.warnings("step MAP"))
    if near.k == len(facts):
        warnings.append(f"k is not below the number of facts, {near.k}: every fact is always visible")
    training = ArcfTraining(
        config=config,
        fitted=fitted,
        counts={
            "questions": len(prepared),
            "gold facts": sum(len(question.gold) for question in prepared),
            "gold facts in no table": len(missing_gold(questions, facts)),
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
        warnings=tuple(warnings),
        folder=setup.run.out,
        data=tuple(setup.run.data),
    )
    setup.save(training, tower.save, scorer=training.form.to_json())
    return training


def _add_terms(
    tower: ScorerTower,
    config: ArcfConfig,
    questions: Sequence[Question],
    inputs: Inputs,
    facts: FactTables,
    base: EncoderEntry,
) -> PremisePriors | None:
    """Add the terms of the settings to a tower; return its priors of premises, None for none."""
    if config.shared_pieces:
        tower.add_shared_pieces(SharedPieces.of(inputs.candidates), weight=config.shared_pieces)
    if config.power:
        explanations = Explanations.of(questions, facts, encoder=name_of(base))
        tower.add_explanations(explanations, weight=config.power)
    if config.similarity:
        tower.add_words(WordSimilarity.of(facts.texts), weight=config.similarity)
    if tower.explanations is None and tower.words is None:
        return None
    return PremisePriors(facts, explanations=tower.explanations, words=tower.words)


def _balance(tower: ScorerTower, sampler: Sampler) -> None:
    """Shift the bias so that as many scores are above 0, a probability of one half, as there are positives.

    bXENT needs probabilities, but initial scores lie far above 0, and the learning rate of an adapter moves
    the bias too little in a whole training.
    """
    import torch

    samples = sampler.epoch(0)[:_BALANCED]
    scores = np.concatenate([tower.score(sampler.pairs(sample), sampler.terms(sample)) for sample in samples])
    positives = sum(sample.positives for sample in samples)
    with torch.no_grad():
        tower.head.bias.sub_(float(np.sort(scores)[-positives]))


def _dev_questions(dev: Sequence[Question], config: ArcfConfig) -> list[Question]:
    """Return the questions that choose the weights, the same for every seed."""
    explained = [question for question in dev if question.gold]
    if dev and not explained:
        raise TrainingError(
            f"expected dev questions with explanations, found none of {len(dev)}; give a file "
            "that is not blind"
        )
    return sample_rows(explained, config.dev_questions)


def _dev_samples(
    dev: Sequence[Question],
    config: ArcfConfig,
    inputs: Inputs,
    near: Neighbourhoods,
    priors: PremisePriors | None,
) -> tuple[Sampler, list[Sample]]:
    """Return one prefix per dev question, the same for every seed."""
    plain = replace(config, seed=0, noise=False, negatives="visible", prefixes=1)
    sampler = Sampler(plain, prepare_questions(dev, inputs, near, priors=priors), inputs, near)
    return sampler, sampler.epoch(0)


def _digest(questions: Sequence[Question]) -> str:
    return digest([[q.id, q.stem, q.answer, dict(q.gold)] for q in questions])
