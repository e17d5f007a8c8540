"""Training of an encoder of Gaussians on natural language inference (Yoda et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import NliTriplets
from entail.encoders.gaussian.distributions import Floats64, Gaussians, encode_pairs, similarity
from entail.encoders.gaussian.encoder import squash_means
from entail.encoders.gaussian.form import GaussianForm
from entail.errors import TrainingError
from entail.gausscse.calibration import fit_form, is_one_way
from entail.gausscse.config import GausscseConfig
from entail.gausscse.distillation import Teachers
from entail.gausscse.task import GausscseTask
from entail.gausscse.tower import GaussianTower
from entail.statistics.classification import auprc, best_threshold
from entail.training.loop.distributed import from_first
from entail.training.method import Run, RunOptions
from entail.training.run import Training, digest, prepare, sample_rows

METHOD = "gausscse"


@dataclass(frozen=True, kw_only=True)
class GausscseTraining(Training[GausscseConfig]):
    """Result of a training; its counts are those of `NliTriplets`.

    Attributes:
        form: Similarity, threshold and curves, as fitted on dev.
    """

    form: GaussianForm

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, without the path of the folder."""
        return {**super().to_json(), "gaussian": self.form.to_json()}


def train_gausscse(
    triplets: NliTriplets,
    config: GausscseConfig,
    *,
    dev: Sequence[NliPair] = (),
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> GausscseTraining:
    """Train an encoder of Gaussians on triplets of premise, entailed and contradicted hypotheses.

    The best weights are those of the highest AUPRC on dev, where threshold and curves are fitted, too.
    Processes started by `torchrun` train one encoder together; a triplet then has the negatives of its own
    process.

    Args:
        triplets: Training data.
        config: Settings.
        dev: Pairs that choose the best weights; without them the last are kept, and there is no threshold.
        run: Output folder, device and callbacks.
        options: Fields of `run` as keywords.

    Raises:
        TrainingError: If there are fewer than two triplets, or no contradiction where `sets` needs some, a
            teacher has another similarity, a loss is not finite, the folder holds something else or is in use
            by another process, or the training was stopped.
        CheckpointError: If a checkpoint has another base, data or configuration.
        EncoderError: If the base or a teacher cannot be loaded.
    """
    _require_enough(triplets, config)
    setup = prepare(config, run, options, method=METHOD)
    teachers = (
        Teachers(config.teachers, kind=config.similarity, device=setup.run.device)
        if config.teachers
        else None
    )
    tower = GaussianTower(
        setup.base,
        pooling=config.pooling,
        max_length=config.max_length,
        seed=config.seed,
        **setup.tower,
    )
    dev_sample = sample_rows(dev, config.dev_pairs)

    def evaluate() -> tuple[float, dict[str, float]] | None:
        if not dev_sample:
            return None
        return dev_figures(_similarities(tower, config, dev_sample), dev_sample)

    fitted = setup.fit(
        GausscseTask(config, triplets, tower, evaluate=evaluate, teachers=teachers),
        tower.parameters,
        bound_to={
            **({"teachers": teachers.revision} if teachers else {}),
            "data": triplets.digest,
            "dev": digest([(p.premise, p.hypothesis, p.label) for p in dev_sample]),
        },
    )
    form = GaussianForm(similarity=config.similarity, pooling=config.pooling, tanh=config.tanh)
    if dev:
        fitted_form = from_first(lambda: fit_form(form, _similarities(tower, config, dev), dev).to_json())
        form = GaussianForm.read(fitted_form, name="dev")
    counts = dict(triplets.to_json())
    if not config.ranking:
        del counts["unentailed"]  # they were not used
    training = GausscseTraining(
        config=config,
        fitted=fitted,
        counts=counts,
        form=form,
        warnings=fitted.warnings("AUPRC"),
        folder=setup.run.out,
        data=tuple(setup.run.data),
    )
    setup.save(training, tower.save, licence="licence", towers="siamese", gaussian=form.to_json())
    return training


def dev_figures(
    similarities: tuple[Floats64, Floats64], pairs: Sequence[NliPair]
) -> tuple[float, dict[str, float]]:
    """Return the AUPRC of NLI, which chooses the best weights, and the main figures.

    Args:
        similarities: sim(h || p) and sim(p || h) of each pair.
        pairs: Labelled pairs; those that entail both ways have no direction.

    Raises:
        TrainingError: If no pair is an entailment.
    """
    forward, backward = similarities
    entailed = np.array([pair.label == "entailment" for pair in pairs])
    score = auprc(forward, entailed)
    if score is None:
        raise TrainingError("expected entailments among the dev pairs, found none; give another dev file")
    directed = entailed & is_one_way(pairs)
    figures = {"AUPRC": score, "accuracy": best_threshold(forward, entailed).accuracy}
    if directed.any():
        figures["direction"] = float((forward > backward)[directed].mean())
    return score, figures


def _require_enough(triplets: NliTriplets, config: GausscseConfig) -> None:
    if len(triplets) < 2:
        raise TrainingError(
            f"expected entailments to learn from, at least 2, found {len(triplets)}; give a file with some"
        )
    if "con" in config.sets and not triplets.premises_with_both:
        raise TrainingError(
            f"expected contradictions of some premises, for sets={config.sets}, found none; take sets=ent or "
            "sets=ent+rev"
        )


def _similarities(
    tower: GaussianTower, config: GausscseConfig, pairs: Sequence[NliPair]
) -> tuple[Floats64, Floats64]:
    """Return sim(h || p) and sim(p || h) of each pair by the current weights."""

    def encode(texts: list[str]) -> Gaussians:
        gaussians = Gaussians.of(tower.encode(texts))
        return squash_means(gaussians) if config.tanh else gaussians

    premises, hypotheses = encode_pairs(
        encode, [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    )
    kind = config.similarity
    return similarity(hypotheses, premises, kind=kind), similarity(premises, hypotheses, kind=kind)
