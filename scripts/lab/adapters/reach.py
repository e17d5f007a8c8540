"""Adapter of reach: the share of gold facts that chains over gold facts reach from their question.

A model is a metric of neighbourhoods: `tfidf`, or a retriever of the catalogue. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from entail.data.worldtree.questions import read_questions
from entail.data.worldtree.tables import read_fact_tables
from entail.evaluation.chains import fact_similarities
from entail.index.protocol import Floats, Ints
from lab.adapters import Measures
from lab.data import DataFolder

SIZES = (30, 60, 90, 130, 180, 290)
"""Sizes of a neighbourhood, k (Table 1 of the paper and below)."""


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the share of gold facts within reach for each k, over the training questions."""
    folder = data.path(sets["release"])
    facts = read_fact_tables(folder / "tables")
    similarities = fact_similarities(facts, model)
    golds: list[Ints] = []
    sizes: list[Ints] = []
    for question in read_questions(folder / "questions.train.tsv").explained:
        gold = np.array([facts.positions[uid] for uid in question.gold if uid in facts.positions])
        if len(gold):
            rows = similarities([question.text, *(facts.texts[fact] for fact in gold)])
            rows[np.arange(1, len(rows)), gold] = np.inf  # a fact is not its own neighbour: rank 0
            golds.append(gold)
            sizes.append(smallest_sizes(rows, gold))
    weights = np.array([len(gold) for gold in golds], dtype=np.float64)
    return {f"k {k}": (np.array([(size <= k).mean() for size in sizes]), weights) for k in SIZES}


def smallest_sizes(rows: Floats, gold: Ints) -> Ints:
    """Return the least k that reaches each gold fact: of all paths, the smallest greatest rank.

    `rows` holds the similarities of the question, then of each gold fact, to every fact.

    >>> question, first = [0.1, 0.9, 0.5, 0.6], [0.8, np.inf, 0.2, 0.1]
    >>> smallest_sizes(np.array([question, first, [0, 0, 0, 0]]), np.array([1, 0])).tolist()
    [1, 1]
    """
    own = np.isinf(rows).sum(axis=1)
    ranks = np.stack([(rows > rows[:, [fact]]).sum(axis=1) + 1 - own for fact in gold], axis=1)
    reached: Ints = ranks[0]
    for _ in gold:
        reached = np.minimum(reached, np.maximum(reached[:, None], ranks[1:]).min(axis=0))
    return reached
