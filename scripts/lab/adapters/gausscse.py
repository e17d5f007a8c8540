"""Adapter of GaussCSE: trainings on labelled pairs.

Roles that begin with `train` are joined. The pairs of `dev` choose weights and threshold, and every role that
begins with `dev` is measured. The model `length` is a rule: the longer sentence entails the other, and no
pair is an entailment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from entail.data.nli.triplets import nli_triplets
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.evaluation.nli.decisions import direction_pairs, evaluate_direction, evaluate_nli
from entail.gausscse.method import GAUSSCSE
from entail.gausscse.training import train_gausscse
from entail.training.method import Run
from lab.adapters import Measures, Work
from lab.data import DataFolder, source_of

LENGTH = "length"


def train(work: Work) -> None:
    """Train an encoder of Gaussians, taught by the teachers if there are any."""
    names = [name for role, name in work.sets.items() if role.startswith("train")]
    config = work.config(GAUSSCSE)
    if work.teachers:
        config = replace(config, teachers=",".join(map(str, work.teachers)))
    train_gausscse(
        nli_triplets(pair for name in names for pair in work.data.pairs(name)),
        config,
        dev=work.data.pairs(work.sets["dev"]),
        run=Run(data=sorted({source_of(name) for name in names}), out=work.out),
    )


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the accuracy of direction, and of entailment by the threshold of dev, on each data set."""
    encoder = GaussianEncoder(model) if model != LENGTH else None
    measures: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    dev = data.pairs(sets["dev"])
    for role in sorted(role for role in sets if role.startswith("dev")):
        pairs = data.pairs(sets[role])
        if encoder is None:
            directed, _ = direction_pairs(pairs)
            answers = {
                "direction": [len(pair.premise) > len(pair.hypothesis) for pair in directed],
                "accuracy": [pair.label != "entailment" for pair in pairs],
            }
        else:
            answers = {
                "direction": evaluate_direction(pairs, encoder).correct.tolist(),
                "accuracy": evaluate_nli(pairs, encoder, dev=dev).correct.tolist(),
            }
        for name, right in answers.items():
            measures[f"{name}, {sets[role]}"] = np.array(right, dtype=np.float64), np.ones(len(right))
    return measures
