"""Adapter of claims: the share of questions that no rule for questions fits, by role. Nothing is trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from entail.claims import existence_claim
from entail.data.passages.files import read_questions
from lab.adapters import Measures
from lab.data import DataFolder


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the fallback over the questions of each data set."""
    measures = {}
    for role, name in sets.items():
        claims = [existence_claim(question.text) for question in read_questions(data.path(name))]
        values = np.array([claim.fallback for claim in claims], dtype=np.float64)
        measures[f"fallback, {role}"] = values, np.ones(len(values))
    return measures
