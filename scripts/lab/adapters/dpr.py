"""Adapter of dense passage retrieval: a contrastive training, with or without a first stage of tuning.

Keys of `extra`: `questions`, evenly from all of `train` (0: all); `first`, whether the first stage is trained
before, by its defaults; `pairs`, entailments of the roles that begin with `nli`, evenly, mixed into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from entail.data.passages.files import read_questions
from entail.evaluation.passages.retrieval import evaluate_passages, judged_questions
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.training.method import Run
from entail.tuning.config import TuningConfig
from entail.tuning.examples import Examples, entailed_pairs, examples_of, with_missing_negatives
from entail.tuning.method import DPR
from entail.tuning.training import train_dpr, train_tuning
from lab.adapters import Measures, Work
from lab.data import DataFolder, source_of
from lab.errors import LabError


def train(work: Work) -> None:
    """Train a retriever on the questions of `train` over the paragraphs of `train` and `passages`."""
    extra = {"questions": 0, "first": False, "pairs": 0, **work.extra}
    if len(extra) > 3:
        raise LabError(f"expected questions, first and pairs at most, found {', '.join(extra)}")
    config = work.config(DPR)
    questions = tuple(read_questions(work.data.path(work.sets["train"])))
    store = open_store(work.data, work.sets, work.cache)
    examples = examples_of(store, take_evenly(questions, extra["questions"] or None))
    examples = with_missing_negatives(examples, depth=config.depth)
    data = {source_of(work.sets["train"])}
    if extra["first"]:
        first = work.out.with_name(f"{work.out.name}-first")
        data |= _train_first(work, examples, first, seed=config.seed, count=extra["pairs"])
        config = replace(config, initial=str(first))
    train_dpr(examples, config, run=Run(data=sorted(data), out=work.out))


def _train_first(work: Work, examples: Examples, out: Path, *, seed: int, count: int) -> set[str]:
    """Train the first stage and return the names of its further data; one that is done is not repeated."""
    names = [name for role, name in work.sets.items() if role.startswith("nli")]
    if not (out / "entail.json").is_file():
        config = replace(TuningConfig(), base=work.settings.get("base", "minilm"), seed=seed)
        pairs = [pair for name in names for pair in work.data.pairs(name)]
        entailments = take_evenly([pair for pair in pairs if pair.label == "entailment"], count)
        train_tuning(entailed_pairs(examples, entailments, words=config.words), config, run=Run(out=out))
    return {source_of(name) for name in names}


def take_evenly(rows: Sequence[Any], count: int | None) -> tuple[Any, ...]:
    """Return `count` rows, spread evenly: the first ones of a file come from few articles.

    >>> take_evenly("abcdef", 3)
    ('a', 'c', 'e')
    """
    if count is None or count >= len(rows):
        return tuple(rows)
    return tuple(rows[at * len(rows) // count] for at in range(count))


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure R@k and the reciprocal rank of the questions of `passages` among all paragraphs."""
    file = data.path(sets["passages"])
    evaluation = evaluate_passages(open_store(data, sets, cache), judged_questions(file), encoder=model)
    return {name: (values, np.ones(len(values))) for name, values in evaluation.values.items()}


def open_store(data: DataFolder, sets: Mapping[str, str], cache: Path) -> PassageStore:
    """Return the paragraphs of `train` and `passages`."""
    names = [sets[role] for role in ("train", "passages")]
    pool = "-".join(data.digest(name) for name in names)
    return store_passages([data.path(name) for name in names], cache / f"pool-{pool}")
