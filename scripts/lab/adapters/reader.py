"""Adapter of readers of answers: trainings on SQuAD, measured with the passage of each question.

Key of `extra`: `questions`, evenly from all of `train` (0: all).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from entail.answering.answers import exact_match, f1
from entail.answering.method import READER
from entail.answering.reader import load_reader
from entail.answering.squad import read_marked
from entail.answering.training import train_reader
from entail.training.adapters.averaging import average_adapters
from entail.training.method import Run
from lab.adapters import Measures, Work
from lab.adapters.dpr import take_evenly
from lab.data import DataFolder, source_of


def train(work: Work) -> None:
    """Train a reader."""
    name = work.sets["train"]
    questions = take_evenly(list(read_marked(work.data.path(name))), work.extra.get("questions") or None)
    train_reader(questions, work.config(READER), run=Run(data=[source_of(name)], out=work.out))


def average(folders: Sequence[Path], out: Path, *, rank: int | None) -> None:
    """Write the mean of readers as one."""
    average_adapters(folders, out, rank=rank)


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure exact match and F1 of `dev`, each question read with its passage."""
    rows = [row for row in read_marked(data.path(sets["dev"])) if row.answers]
    answers = load_reader(model).read([(row.question, [row.passage]) for row in rows])
    pairs = [(span.text if span else "", row.texts) for (span,), row in zip(answers, rows, strict=True)]
    weights = np.ones(len(rows))
    return {
        "EM": (np.array([exact_match(*pair) for pair in pairs]), weights),
        "F1": (np.array([f1(*pair) for pair in pairs]), weights),
    }
