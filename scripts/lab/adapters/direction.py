"""Adapter of the two questions of a pair, asked of every reader; nothing is trained.

Which sentence of an entailment pair entails the other (`direction`), and whether a premise entails its
hypothesis (`entailment`)? Readers are encoders of Gaussians, judges, and two rules: the longer sentence
entails (`length`), and a premise entails if it has enough of the hypothesis's words (`overlap`, the share is
chosen on the pairs of `train`). Each data set gives its first 2,000 pairs in a drawn order.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import EncoderError, TrainingError
from entail.evaluation.nli.decisions import direction_pairs, evaluate_direction, evaluate_nli
from entail.index.lexical import stemmed_words
from entail.judge.judges import THRESHOLD, NliJudge
from lab.adapters import Measures, Values, Work
from lab.data import DataFolder

PAIRS = 2000
"""Pairs of a data set, of all labels."""


def train(work: Work) -> None:
    """Refuse: the readers are there.

    Raises:
        TrainingError: Always.
    """
    raise TrainingError("expected arms with a `model` only: this adapter trains nothing")


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure both questions on every role but `train`; weights are 1."""
    measures: dict[str, tuple[Values, Values]] = {}
    for role in sorted(set(sets) - {"train"}):
        pairs = _drawn(data, sets[role])
        directed, _ = direction_pairs(pairs)
        entails = np.array([pair.label == "entailment" for pair in pairs])
        right, called = _answers(model, directed, pairs, _drawn(data, sets["train"]))
        measures[f"direction, {sets[role]}"] = right, np.ones(len(right))
        measures[f"entailment, {sets[role]}"] = (called == entails).astype(np.float64), np.ones(len(pairs))
    return measures


def _answers(
    model: str, directed: Sequence[NliPair], pairs: Sequence[NliPair], train: Sequence[NliPair]
) -> tuple[Values, np.ndarray]:
    """Return how right each direction is, a tie one half, and which pairs are called an entailment."""
    if model == "length":
        longer = np.array([len(pair.premise) - len(pair.hypothesis) for pair in directed])
        return (np.sign(longer) + 1) / 2, np.zeros(len(pairs), dtype=bool)
    if model == "overlap":
        values, forward, backward = _shares(train), _shares(directed), _shares(directed, reverse=True)
        gold = np.array([pair.label == "entailment" for pair in train])
        threshold = max(sorted(set(values)), key=lambda value: float(((values >= value) == gold).mean()))
        return (np.sign(forward - backward) + 1) / 2, _shares(pairs) >= threshold
    try:
        encoder = GaussianEncoder(model)
    except EncoderError:
        judge = NliJudge(model)
        first, second = ([getattr(pair, side) for pair in directed] for side in ("premise", "hypothesis"))
        right = judge.entailment(first, second) > judge.entailment(second, first)
        whole = judge.entailment([p.premise for p in pairs], [p.hypothesis for p in pairs])
        return np.asarray(right, dtype=np.float64), whole >= THRESHOLD
    correct = evaluate_direction(directed, encoder).correct.astype(np.float64)
    evaluated = evaluate_nli(pairs, encoder)
    entails = np.array([pair.label == "entailment" for pair in pairs])
    return correct, np.asarray(evaluated.correct == entails)


def _drawn(data: DataFolder, name: str) -> list[NliPair]:
    pairs = list(data.pairs(name))
    return random.Random(0).sample(pairs, min(PAIRS, len(pairs)))


def _shares(pairs: Sequence[NliPair], *, reverse: bool = False) -> Values:
    """Return the share of the hypothesis's stems that stand in the premise."""
    texts = [(pair.premise, pair.hypothesis)[:: -1 if reverse else 1] for pair in pairs]
    stems = [(set(stemmed_words(premise)), set(stemmed_words(hypothesis))) for premise, hypothesis in texts]
    return np.array([len(has & needed) / max(1, len(needed)) for has, needed in stems])
