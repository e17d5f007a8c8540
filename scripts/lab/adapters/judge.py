"""Adapter of judges of entailment: trainings on labelled pairs.

Roles that begin with `train` are joined. Of all roles that begin with `dev` together 2,000 pairs choose the
weights, and figures are taken on the others, for each role. The model `majority` is a rule: every pair has
the commonest label of the data set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.judge.judges import NliJudge, evaluate_judge
from entail.judge.method import JUDGE
from entail.judge.training import train_judge
from entail.training.method import Run
from entail.training.run import sample_rows
from lab.adapters import Measures, Work
from lab.data import DataFolder, source_of

CHOOSING = 2000
"""Dev pairs that choose the weights."""

MAJORITY = "majority"


def train(work: Work) -> None:
    """Train a judge; pairs of dev are left out of training."""
    names = [name for role, name in work.sets.items() if role.startswith("train")]
    choosing, _ = _split(work.data, work.sets)
    train_judge(
        [pair for name in names for pair in work.data.pairs(name)],
        work.config(JUDGE),
        dev=choosing,
        run=Run(data=sorted({source_of(name) for name in names}), out=work.out),
    )


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the accuracy on the dev pairs that did not choose the weights, a measure a role."""
    judge = NliJudge(model) if model != MAJORITY else None
    measures = {}
    for role, pairs in _split(data, sets)[1].items():
        if judge is None:
            labels = [pair.label for pair in pairs]
            right = np.array(labels) == Counter(labels).most_common(1)[0][0]
        else:
            evaluation = evaluate_judge(pairs, judge)
            right = evaluation.probabilities.argmax(axis=1) == evaluation.gold
        right = right.astype(np.float64)
        measures[f"accuracy, {sets[role]}"] = right, np.ones(len(right))
    return measures


def _split(data: DataFolder, sets: Mapping[str, str]) -> tuple[list[NliPair], dict[str, list[NliPair]]]:
    """Return the dev pairs that choose the weights, and the others by role."""
    roles = [role for role in sorted(sets) if role.startswith("dev")]
    rows = [(role, pair) for role in roles for pair in data.pairs(sets[role])]
    choosing = set(sample_rows(range(len(rows)), CHOOSING))
    rest: dict[str, list[NliPair]] = {role: [] for role in roles}
    for i, (role, pair) in enumerate(rows):
        if i not in choosing:
            rest[role].append(pair)
    return [rows[i][1] for i in sorted(choosing)], rest
