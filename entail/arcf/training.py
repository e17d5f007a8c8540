"""Training of a scorer of premises on questions with known explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from entail.arcf.config import ArcfConfig
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.sampling import Sample, Sampler, prepare_questions
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.scorer import METHOD, ScorerForm
from entail.arcf.scoring.terms import Explanations, PremiseTerms, SharedPieces, Terms, WordSimilarity
from entail.arcf.task import ArcfTask
from entail.arcf.tower import BiEncoderTower, ScorerTower
from entail.data.worldtree.questions import Question, missing_gold
from entail.data.worldtree.tables import FactTables
from entail.encoders.catalogue import EncoderEntry
from entail.errors import TrainingError
from entail.training.adapters.saving import name_of
from entail.training.method import Run, RunOptions
from entail.training.run import Training, digest, prepare, sample_rows


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
    tower = (BiEncoderTower if config.architecture == "bi" else ScorerTower)(
        setup.base,
        max_length=config.max_length,
        seed=config.seed,
        **setup.tower,
    )
    near = Neighbourhoods(facts, k=config.k, metric=config.metric, progress=setup.run.progress)
    inputs = Inputs(tower.tokenize, tower.frame, max_length=tower.max_length, facts=facts.texts)
    terms = _add_terms(tower, config, questions, inputs, facts, setup.base)
    prepared = prepare_questions(questions, inputs, near, terms=terms)
    dev_questions = _dev_questions(dev, config)
    sampler = Sampler(config, prepared, inputs, near)
    fitted = setup.fit(
        ArcfTask(
            config,
            sampler,
            tower,
            dev=_dev_samples(dev_questions, config, inputs, near, terms) if dev_questions else None,
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
            max_length=tower.max_length,
            metric=config.metric,
            architecture=config.architecture,
            shared_pieces=tower.terms.pieces is not None,
            encoder=tower.terms.explanations.encoder if tower.terms.explanations else "",
            similarity=tower.terms.words is not None,
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
) -> PremiseTerms | None:
    """Add the terms of the settings to a tower; return them over the premises, None for none."""
    terms = Terms(
        SharedPieces.of(inputs.candidates) if config.shared_pieces else None,
        Explanations.of(questions, facts, encoder=name_of(base)) if config.power else None,
        WordSimilarity.of(facts.texts) if config.similarity else None,
    )
    weights = [weight for weight in (config.shared_pieces, config.power, config.similarity) if weight]
    tower.add_terms(terms, weights)
    return PremiseTerms(terms, facts, inputs) if weights else None


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
    terms: PremiseTerms | None,
) -> tuple[Sampler, list[Sample]]:
    """Return one prefix per dev question, the same for every seed."""
    plain = replace(config, seed=0)
    sampler = Sampler(plain, prepare_questions(dev, inputs, near, terms=terms), inputs, near)
    return sampler, sampler.epoch(0)


def _digest(questions: Sequence[Question]) -> str:
    return digest([[q.id, q.stem, q.answer, dict(q.gold)] for q in questions])
