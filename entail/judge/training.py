"""Training of a judge of entailment: a cross-encoder on natural language inference, by cross-entropy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from entail.data.nli.pairs import LABELS, NOT_ENTAILMENT, NliPair
from entail.data.text import fold
from entail.encoders.cross.encoder import HEAD, CrossParts, open_cross
from entail.encoders.cross.pairs import Pair, cut_pairs
from entail.errors import TrainingError
from entail.index.protocol import Ints
from entail.judge.config import JudgeConfig
from entail.judge.judges import METHOD, SHIPPED, JudgeForm, evaluate_outputs, gold_labels
from entail.training.adapters.tower import CrossTower
from entail.training.loop.batches import BatchTask
from entail.training.loop.task import Evaluated
from entail.training.method import Run
from entail.training.run import Setup, Training, digest, prepare, sample_rows

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class CleanPairs:
    """Distinct training pairs, and counts of pairs by label and by reason for leaving them out."""

    pairs: tuple[NliPair, ...]
    counts: Mapping[str, int]


def clean_pairs(pairs: Sequence[NliPair], dev: Sequence[NliPair] = ()) -> CleanPairs:
    """Leave out repeated pairs, pairs with two labels, pairs of dev, and pairs of data with two classes.

    Pairs are the same if both texts are when folded (`entail.data.text.fold`).

    >>> rain = NliPair("it rains", "it is wet", "entailment")
    >>> clean_pairs([rain, rain, NliPair("it rains ", "it is dry", "neutral")], [rain]).counts["pairs of dev"]
    2
    """
    in_dev = {_key(pair) for pair in dev}
    labels: dict[tuple[str, str], list[NliPair]] = {}
    for pair in pairs:
        labels.setdefault(_key(pair), []).append(pair)
    outside = {key: group for key, group in labels.items() if key not in in_dev}
    agreed = [group[0] for group in outside.values() if len({pair.label for pair in group}) == 1]
    clean = tuple(pair for pair in agreed if pair.label != NOT_ENTAILMENT)
    return CleanPairs(
        clean,
        {
            "pairs": len(clean),
            **{label: sum(pair.label == label for pair in clean) for label in LABELS},
            "repeated": sum(len(group) - 1 for group in outside.values()),
            "with two labels": len(outside) - len(agreed),
            NOT_ENTAILMENT: len(agreed) - len(clean),
            "pairs of dev": sum(len(labels.get(key, ())) for key in in_dev),
        },
    )


def _key(pair: NliPair) -> tuple[str, str]:
    return fold(pair.premise), fold(pair.hypothesis)


class JudgeTask(BatchTask):
    """Task of a judge."""

    def __init__(
        self,
        config: JudgeConfig,
        pairs: Sequence[NliPair],
        tower: CrossTower,
        *,
        dev: Sequence[NliPair] = (),
    ) -> None:
        self.config, self.tower = config, tower
        self._rows, self.cut = _tokenize(tower, pairs)
        self._gold = gold_labels(pairs)
        super().__init__(config, [len(first) + len(second) for first, second in self._rows])
        self._dev = (_tokenize(tower, dev)[0], dev) if dev else None

    def loss(self, batch: Ints) -> tuple[Tensor, Mapping[str, float]]:
        """Return the mean cross-entropy of pairs, and their accuracy."""
        import torch

        outputs = self.tower.outputs([self._rows[i] for i in batch])  # (pairs, 3)
        gold = torch.from_numpy(self._gold[batch]).to(outputs.device)
        loss = torch.nn.functional.cross_entropy(outputs, gold, label_smoothing=self.config.smoothing)
        with torch.no_grad():
            right = float((outputs.argmax(dim=1) == gold).float().mean())
        return loss, {"accuracy": right}

    def evaluate(self) -> tuple[float, Mapping[str, float]] | None:
        """Evaluate the current weights by the accuracy on dev."""
        if self._dev is None:
            return None
        rows, pairs = self._dev
        result = evaluate_outputs(self.tower.values(rows), pairs)
        figures = {"accuracy": result.accuracy, "entailment or not": result.entailment_accuracy}
        return result.accuracy, figures


def train_judge(
    pairs: Sequence[NliPair],
    config: JudgeConfig,
    *,
    dev: Sequence[NliPair] = (),
    run: Run | None = None,
) -> Training[JudgeConfig]:
    """Train a judge on pairs of premise and hypothesis whose label is known.

    The best weights are those of the highest accuracy on dev; without it the last are kept. `clean_pairs`
    leaves some pairs out.

    Raises:
        TrainingError: If there are fewer than two labels, or the judge to start from has another base; see
            `prepare`.
        EncoderError: If that judge cannot be found or loaded safely.
    """
    clean = clean_pairs(pairs, dev)
    labels = [label for label in LABELS if clean.counts[label]]
    if len(labels) < 2:
        left_out = ", ".join(
            f"{name} {clean.counts[name]:,}"
            for name in ("pairs of dev", "repeated", "with two labels", NOT_ENTAILMENT)
        )
        raise TrainingError(
            f"expected pairs of at least two labels to learn from, found {len(clean.pairs)} of "
            f"{', '.join(labels) or 'no label'} (left out: {left_out}); give other pairs, or another dev"
        )
    setup = prepare(config, run, method=METHOD)
    start = _judge_to_start_from(config.initial, setup) if config.initial else None
    if start is not None:
        setup.tower["initial"] = start.adapter
    tower = CrossTower(
        setup.base, max_length=config.max_length, outputs=len(LABELS), seed=config.seed, **setup.tower
    )
    if start is not None:
        tower.load_head(start.folder / HEAD)
    dev_sample = sample_rows(dev, config.dev_pairs)
    task = JudgeTask(config, clean.pairs, tower, dev=dev_sample)
    bound_to = {"data": _digest(clean.pairs), "dev": _digest(dev_sample)}
    if start is not None:
        bound_to["initial"] = start.revision
    fitted = setup.fit(task, tower.parameters, bound_to=bound_to)
    missing = [
        f"no pair to learn from is {label}: the judge will not know what that is"
        for label in LABELS
        if label not in labels
    ]
    # Passages to judge are longer than training texts.
    form = JudgeForm(max_length=tower.model.max_seq_length or tower.max_length).to_json()
    measured = evaluate_outputs(tower.values(_tokenize(tower, dev)[0]), dev).to_json() if dev else None
    counts = {**clean.counts, "pairs cut": task.cut, "steps": fitted.steps}
    training = setup.result(fitted, counts, measure="accuracy", warnings=missing, judge=form, dev=measured)
    setup.save(training, tower.save, judge=form, figures=_figures(fitted.best, measured))
    return training


def _judge_to_start_from(name: str, setup: Setup) -> CrossParts:
    parts, card = open_cross(name, METHOD, first=SHIPPED)
    labels = JudgeForm.read(card.judge, name=parts.name).labels
    if parts.adapter is None or parts.whole.revision != setup.base.revision or labels != LABELS:
        raise TrainingError(
            f"initial: expected a judge with an adapter on {setup.base.name!r} and the labels "
            f"{', '.join(LABELS)}, found {parts.name!r} on {parts.whole.name!r} with {', '.join(labels)}"
        )
    return parts


def _figures(best: Evaluated | None, measured: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the figures for `entail.json`."""
    if measured is None or best is None:
        return {}
    low, high = measured["interval"]
    accuracies = {
        "accuracy": measured["accuracy"],
        "95 % interval, from": low,
        "95 % interval, to": high,
        "calling all the same": measured["majority"],
        "entailment or not": measured["entailment_accuracy"],
    }
    return {"dev": accuracies, "pairs": measured["n"], "epoch": best.epoch, "step": best.step}


def _digest(pairs: Sequence[NliPair]) -> str:
    return digest([[pair.premise, pair.hypothesis, pair.label] for pair in pairs])


def _tokenize(tower: CrossTower, pairs: Sequence[NliPair]) -> tuple[list[Pair], int]:
    """Return pairs as token ids of the maximum length, and the number of truncated ones."""
    return cut_pairs(
        tower.tokenize,
        tower.frame,
        [pair.premise for pair in pairs],
        [pair.hypothesis for pair in pairs],
        max_length=tower.max_length,
    )
