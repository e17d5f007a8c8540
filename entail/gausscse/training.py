"""GaussCSE: train an encoder of Gaussians on natural language inference (Yoda et al.)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import NliTriplets
from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.encoders.gaussian.distributions import Floats64, Gaussians, encode_pairs, similarity
from entail.encoders.gaussian.encoder import squashed
from entail.encoders.gaussian.form import GaussianForm
from entail.errors import TrainingError
from entail.gausscse.calibration import fit_form, one_way
from entail.gausscse.config import GausscseConfig
from entail.gausscse.result import METHOD, GausscseTraining, save_gausscse
from entail.gausscse.task import GausscseTask
from entail.gausscse.tower import GaussianTower
from entail.statistics.classification import auprc, best_threshold
from entail.training.adapters.saving import require_place
from entail.training.adapters.tower import cast_precision, require_base, training_device
from entail.training.loop.distributed import from_first
from entail.training.loop.fit import Fitted
from entail.training.method import Run, RunOptions
from entail.training.run import fit_method, lora_of


def train_gausscse(
    triplets: NliTriplets,
    config: GausscseConfig,
    *,
    dev: Sequence[NliPair] = (),
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> GausscseTraining:
    """Train an encoder of Gaussians on triplets of premise, entailed and contradicted hypotheses.

    The best weights are those of the highest AUPRC on dev; threshold and curves are fitted there, too.

    Called in each of several processes that `torchrun` started it trains one encoder on all of them; a
    triplet then has those of its own process as negatives.

    Args:
        triplets: What is learnt from.
        config: The settings.
        dev: Pairs to choose the best weights on; without them the last are kept, and there is no threshold.
        run: Output folder, device and callbacks.
        options: Fields of `run` as keywords.

    Raises:
        TrainingError: If there is nothing to learn from, no contradiction where `sets` asks for some, a loss
            that is not finite, a folder that holds something else, another process at work in it, or it was
            stopped.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    import torch

    run = replace(run or Run(), **options)
    out = run.out
    _require_enough(triplets, config)
    if out is not None:
        require_place(out, method=METHOD)
    base = fetch(resolve(config.base))
    require_base(base)
    place = training_device(run.device)
    torch.manual_seed(config.seed)
    tower = _tower(config, base, place)
    chosen = _some(dev, config)

    def evaluate() -> tuple[float, dict[str, float]] | None:
        if not chosen:
            return None
        return dev_figures(_encoded(tower, config, chosen), chosen)

    fitted = fit_method(
        GausscseTask(config, triplets, tower, evaluate=evaluate),
        tower.parameters,
        config,
        base=base,
        bound_to={
            "data": triplets.digest,
            "dev": _digest([(p.premise, p.hypothesis, p.label) for p in chosen]),
        },
        evaluate_steps=config.evaluate_every,
        warmup=config.warmup,
        run=run,
    )
    form = GaussianForm(similarity=config.similarity, pooling=config.pooling, tanh=config.tanh)
    if dev:
        told = from_first(lambda: fit_form(form, _encoded(tower, config, dev), dev).to_json())
        form = GaussianForm.read(told, name="what was fitted on dev")
    training = GausscseTraining(
        config=config,
        fitted=fitted,
        counts=triplets.to_json(),
        form=form,
        warnings=_warnings(fitted),
        folder=out,
        data=tuple(run.data),
    )
    if out is not None:
        from_first(lambda: save_gausscse(out, training, tower, base))
    return training


def dev_figures(
    similarities: tuple[Floats64, Floats64], pairs: Sequence[NliPair]
) -> tuple[float, dict[str, float]]:
    """Return what the best weights are chosen by, AUPRC of NLI, and the main figures.

    Args:
        similarities: sim(h || p) and sim(p || h) of each pair.
        pairs: The pairs; those that entail both ways have no direction.

    Raises:
        TrainingError: If no pair of dev is an entailment.
    """
    forward, backward = similarities
    entailed = np.array([pair.label == "entailment" for pair in pairs])
    score = auprc(forward, entailed)
    if score is None:
        raise TrainingError("expected entailments among the dev pairs, found none; give another dev file")
    directed = entailed & one_way(pairs)
    figures = {"AUPRC": score, "accuracy": best_threshold(forward, entailed).accuracy}
    if directed.any():
        figures["direction"] = float((forward > backward)[directed].mean())
    return score, figures


def _tower(config: GausscseConfig, base: EncoderEntry, device: str) -> GaussianTower:
    return GaussianTower(
        base,
        lora=lora_of(config),
        device=device,
        pooling=config.pooling,
        spread=config.spread,
        max_length=config.max_length,
        precision=cast_precision(config.precision, device),
        dropout=config.dropout,
        seed=config.seed,
    )


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


def _some(dev: Sequence[NliPair], config: GausscseConfig) -> list[NliPair]:
    """Draw the pairs that weights are chosen on: the same for every seed, so that seeds can be compared."""
    if not config.dev_pairs or len(dev) <= config.dev_pairs:
        return list(dev)
    chosen = np.random.default_rng(0).permutation(len(dev))[: config.dev_pairs]
    return [dev[i] for i in np.sort(chosen)]


def _encoded(
    tower: GaussianTower, config: GausscseConfig, pairs: Sequence[NliPair]
) -> tuple[Floats64, Floats64]:
    """Return sim(h || p) and sim(p || h) of each pair, under the weights of this moment."""

    def encode(texts: list[str]) -> Gaussians:
        found = Gaussians.of(tower.encode(texts))
        return squashed(found) if config.tanh else found

    premises, hypotheses = encode_pairs(
        encode, [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    )
    kind = config.similarity
    return similarity(hypotheses, premises, kind=kind), similarity(premises, hypotheses, kind=kind)


def _warnings(fitted: Fitted) -> tuple[str, ...]:
    if fitted.best is None or not fitted.evaluations:
        return ()
    untrained = fitted.evaluations[0]
    if fitted.best.score <= untrained.score:
        return (
            f"no weights did better on dev than the untrained ones (AUPRC {fitted.best.score:.4f} against "
            f"{untrained.score:.4f}); look at the learning rate and at the data",
        )
    return ()


def _digest(rows: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()[:12]
