"""Train a judge of entailment: MiniLM, or another base, as a cross-encoder on natural language inference."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

from entail.data.nli.pairs import LABELS, NliPair
from entail.data.text import fold
from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.errors import TrainingError
from entail.judge.config import JudgeConfig
from entail.judge.evaluation import JudgeEvaluation, gold_labels
from entail.judge.judges import METHOD, JudgeForm
from entail.judge.task import JudgeTask, pairs_of, softmax
from entail.training.adapters.cross_tower import CrossTower
from entail.training.adapters.saving import name_of, require_place, save_encoder
from entail.training.adapters.tower import cast_precision, require_base, training_device
from entail.training.loop.distributed import from_first
from entail.training.loop.fit import Fitted
from entail.training.method import Run, RunOptions
from entail.training.run import Training, fit_method, lora_of, sample_indices


@dataclass(frozen=True, kw_only=True)
class JudgeTraining(Training[JudgeConfig]):
    """Result of the training of a judge.

    Attributes:
        form: How the judge is to be used.
        measured: Figures on all of dev, see `JudgeEvaluation.to_json`; None without dev.
    """

    form: JudgeForm
    measured: Mapping[str, Any] | None

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, without the folder's place."""
        return {**super().to_json(), "judge": self.form.to_json(), "dev": self.measured}


@dataclass(frozen=True)
class Learnable:
    """Pairs to learn from, and what was left out.

    Attributes:
        pairs: Each once.
        counts: Pairs by label, and how many were left out for which reason.
    """

    pairs: tuple[NliPair, ...]
    counts: Mapping[str, int]


def learnable(pairs: Sequence[NliPair], dev: Sequence[NliPair] = ()) -> Learnable:
    """Leave out pairs that were there before, those with two labels, and those that stand in dev, too.

    >>> rain = NliPair("it rains", "it is wet", "entailment")
    >>> learnable([rain, rain, NliPair("it rains ", "it is dry", "neutral")], [rain]).counts["pairs of dev"]
    2

    Pairs are the same where both texts are when folded (`entail.data.text.fold`).
    """
    held = {(fold(pair.premise), fold(pair.hypothesis)) for pair in dev}
    kept: dict[tuple[str, str], NliPair] = {}
    repeated = torn = in_dev = 0
    both = set()
    for pair in pairs:
        key = fold(pair.premise), fold(pair.hypothesis)
        if key in held:
            in_dev += 1
        elif key in kept:
            repeated += 1
            if kept[key].label != pair.label:
                both.add(key)
        else:
            kept[key] = pair
    for key in both:
        del kept[key]
        torn += 1
    found = tuple(kept.values())
    counts: dict[str, int] = {label: sum(pair.label == label for pair in found) for label in LABELS}
    return Learnable(
        found,
        {
            "pairs": len(found),
            **counts,
            "repeated": repeated,
            "with two labels": torn,
            "pairs of dev": in_dev,
        },
    )


def train_judge(
    pairs: Sequence[NliPair],
    config: JudgeConfig,
    *,
    dev: Sequence[NliPair] = (),
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> JudgeTraining:
    """Train a judge on pairs of premise and hypothesis whose label is known.

    The best weights are those of the highest accuracy on dev.

    Called in each of several processes that `torchrun` started it trains one judge on all of them.

    Args:
        pairs: What is learnt from; see `learnable` for what is left out of them.
        config: The settings.
        dev: Pairs to choose the best weights on; without them the last are kept.
        run: Output folder, device and callbacks.
        options: Fields of `run` as keywords.

    Raises:
        TrainingError: If there is nothing to learn from or only one label, a loss that is not finite, a
            folder that holds something else, another process at work in it, or it was stopped.
        CheckpointError: If a checkpoint is of another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    import torch

    run = replace(run or Run(), **options)
    out = run.out
    learnt = learnable(pairs, dev)
    there = [label for label in LABELS if learnt.counts[label]]
    if len(there) < 2:
        raise TrainingError(
            f"expected pairs of at least two labels to learn from, found {len(learnt.pairs)} of "
            f"{', '.join(there) or 'no label'}. Of {len(pairs):,} that were given "
            f"{learnt.counts['pairs of dev']:,} stand in dev, too, {learnt.counts['repeated']:,} were there "
            f"before and {learnt.counts['with two labels']:,} have two labels: those are left out; give "
            "other pairs, or another dev"
        )
    if out is not None:
        require_place(out, method=METHOD)
    base = fetch(resolve(config.base))
    require_base(base)
    place = training_device(run.device)
    torch.manual_seed(config.seed)
    tower = CrossTower(
        base,
        lora=lora_of(config),
        device=place,
        max_length=config.max_length,
        outputs=len(LABELS),
        precision=cast_precision(config.precision, place),
        dropout=config.dropout,
        seed=config.seed,
    )
    chosen = [dev[i] for i in sample_indices(len(dev), config.dev_pairs)]
    task = JudgeTask(config, learnt.pairs, tower, dev=chosen)
    fitted = fit_method(
        task,
        tower.parameters,
        config,
        base=base,
        evaluate_steps=config.evaluate_every,
        max_gradient_norm=config.max_gradient_norm,
        warmup=config.warmup,
        bound_to={"data": _digest(learnt.pairs), "dev": _digest(chosen)},
        run=run,
    )
    training = JudgeTraining(
        config=config,
        fitted=fitted,
        counts={**learnt.counts, "pairs cut": task.cut, "steps": fitted.steps},
        warnings=_warnings(fitted, there),
        folder=out,
        data=tuple(run.data),
        # At use passages are judged, which are longer than what is learnt from.
        form=JudgeForm(max_length=tower.model.max_seq_length or tower.max_length),
        measured=from_first(lambda: _measured(tower, dev)) if dev else None,
    )
    if out is not None:
        from_first(
            lambda: save_encoder(
                out,
                method=METHOD,
                write=tower.save,
                about=lambda: card_of(training, base),
            )
        )
    return training


def card_of(training: JudgeTraining, base: EncoderEntry) -> dict[str, Any]:
    """Return what `entail.json` says; see `entail.encoders.card.Card`."""
    config, best, measured = training.config, training.fitted.best, training.measured
    started: dict[str, Any] = {"trained_from": base.name}
    if config.tuning == "lora":
        started = {"base": name_of(base), "base_revision": base.revision}
    figures: dict[str, Any] = {}
    if measured is not None:
        low, high = measured["interval"]
        told = {"accuracy": measured["accuracy"], "95 % interval, from": low, "95 % interval, to": high}
        told |= {"calling all the same": measured["majority"]}
        told |= {"entailment or not": measured["entailment_accuracy"]}
        figures = {"dev": told, "pairs": measured["n"]}
        figures |= {"epoch": best.epoch, "step": best.step} if best else {}
    return {
        "method": METHOD,
        **started,
        "judge": training.form.to_json(),
        "figures": figures,
        "config": asdict(config),
        "trained_on": {
            **training.counts,
            **({"data": list(training.data)} if training.data else {}),
        },
        "base_licence": base.licence,
    }


def _measured(tower: CrossTower, dev: Sequence[NliPair]) -> dict[str, Any]:
    rows, _ = pairs_of(tower, dev)
    return JudgeEvaluation(softmax(tower.values(rows)), gold_labels(dev)).to_json()


def _warnings(fitted: Fitted, there: Sequence[str]) -> tuple[str, ...]:
    found = []
    missing = [label for label in LABELS if label not in there]
    if missing:
        found.append(f"no pair to learn from is {missing[0]}: the judge will not know what that is")
    if fitted.best is not None and fitted.best.score <= fitted.evaluations[0].score:
        found.append(
            f"no weights did better on dev than the untrained ones (accuracy {fitted.best.score:.4f} against "
            f"{fitted.evaluations[0].score:.4f}); look at the learning rate and at the data"
        )
    return tuple(found)


def _digest(pairs: Sequence[NliPair]) -> str:
    told = [[pair.premise, pair.hypothesis, pair.label] for pair in pairs]
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode()).hexdigest()[:12]
