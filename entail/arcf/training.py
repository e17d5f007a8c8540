"""Training of a scorer of premises on questions with known explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from entail.arcf.config import ArcfConfig
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.sampling import Sampler
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.scorer import METHOD, ScorerForm
from entail.arcf.scoring.terms import Explanations, PremiseTerms, SharedPieces, Terms, WordSimilarity
from entail.arcf.task import ArcfTask
from entail.arcf.tower import BiEncoderTower, ScorerTower
from entail.data.worldtree.questions import Question, missing_gold
from entail.data.worldtree.tables import FactTables
from entail.errors import TrainingError
from entail.training.adapters.saving import name_of
from entail.training.method import Run
from entail.training.run import Training, digest, prepare, sample_rows


def train_arcf(
    questions: Sequence[Question],
    facts: FactTables,
    config: ArcfConfig,
    *,
    dev: Sequence[Question] = (),
    run: Run | None = None,
) -> Training[ArcfConfig]:
    """Train a scorer of premises on questions with known explanations.

    The best weights are those of the highest step MAP on dev, see `entail.arcf.task.step_figures`. Processes
    started by `torchrun` train one scorer together and share the prefixes of a step.

    Questions without gold in the tables are left out. Without dev the last weights are kept.

    Raises:
        TrainingError: If there is no training question; see `prepare`.
    """
    setup = prepare(config, run, method=METHOD)
    make_tower = BiEncoderTower if config.architecture == "bi" else ScorerTower
    tower = make_tower(setup.base, max_length=config.max_length, seed=config.seed, **setup.tower)
    near = Neighbourhoods(facts, k=config.k, metric=config.metric, progress=setup.run.progress)
    inputs = Inputs(tower.tokenize, tower.frame, max_length=tower.max_length, facts=facts.texts)
    terms = Terms(
        SharedPieces.of(inputs.candidates) if config.shared_pieces else None,
        Explanations.of(questions, facts, encoder=name_of(setup.base)) if config.power else None,
        WordSimilarity.of(facts.texts) if config.similarity else None,
    )
    tower.add_terms(terms, [w for w in (config.shared_pieces, config.power, config.similarity) if w])
    over_facts = PremiseTerms(terms, facts, inputs) if terms.names else None
    dev_questions = _dev_questions(dev, config)
    sampler = Sampler(config, questions, inputs, near, over_facts)
    # One prefix a dev question, the same for every seed.
    dev_sampler = Sampler(replace(config, seed=0), dev_questions, inputs, near, over_facts) if dev else None
    fitted = setup.fit(
        ArcfTask(config, sampler, tower, dev=dev_sampler),
        tower.parameters,
        bound_to={"facts": facts.digest, "questions": _digest(questions), "dev": _digest(dev_questions)},
    )
    counts = {
        "questions": len(sampler.questions),
        "gold facts": sum(len(question.gold) for question in sampler.questions),
        "gold facts in no table": len(missing_gold(questions, facts)),
        "facts": len(facts),
        "steps": fitted.steps,
    }
    all_visible = f"k is not below the number of facts, {near.k}: every fact is always visible"
    warnings = [all_visible] if near.k == len(facts) else []
    training = setup.result(fitted, counts, measure="step MAP", warnings=warnings)
    form = ScorerForm(
        max_length=tower.max_length,
        metric=config.metric,
        architecture=config.architecture,
        shared_pieces=terms.pieces is not None,
        encoder=terms.explanations.encoder if terms.explanations else "",
        similarity=terms.words is not None,
    )
    setup.save(training, tower.save, scorer=form.to_json())
    return training


def _dev_questions(dev: Sequence[Question], config: ArcfConfig) -> list[Question]:
    """Return the questions that choose the weights, the same for every seed."""
    explained = [question for question in dev if question.gold]
    if dev and not explained:
        raise TrainingError(
            f"expected dev questions with explanations, found none of {len(dev)}; give a file "
            "that is not blind"
        )
    return sample_rows(explained, config.dev_questions)


def _digest(questions: Sequence[Question]) -> str:
    return digest([[q.id, q.stem, q.answer, dict(q.gold)] for q in questions])
