"""Adapter of ARCF: trainings on a release of WorldTree, measured by the MAP of its dev questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from entail.arcf.chains.chain import ChainRanker
from entail.arcf.method import ARCF
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.scorer import load_scorer
from entail.arcf.training import train_arcf
from entail.data.worldtree.questions import read_questions
from entail.data.worldtree.tables import FactTables, read_fact_tables
from entail.evaluation.chains import evaluate_chains, fact_similarities, tfidf_rankings, with_gold
from entail.training.method import Run
from lab.adapters import Measures, Work
from lab.data import DataFolder

VISIBLE = 60
"""Visible premises at each step of a chain that is measured."""


def train(work: Work) -> None:
    """Train a scorer on all explained questions, but for those that a tree of `left_out` explains."""
    folder = work.data.path(work.sets["release"])
    trees = work.data.trees(work.sets["left_out"]) if "left_out" in work.sets else ()
    ids = {tree.id for tree in trees}
    train_arcf(
        [
            question
            for question in read_questions(folder / "questions.train.tsv").explained
            if question.id not in ids
        ],
        _facts(folder),
        work.config(ARCF),
        run=Run(data=["worldtree"], out=work.out),
    )


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the rankings of a scorer, or those by tf-idf, of the dev questions that are scored."""
    folder = data.path(sets["release"])
    facts = _facts(folder)
    questions = with_gold(read_questions(folder / "questions.dev.tsv").scored)
    if model == "tfidf":
        rankings = list(tfidf_rankings(questions, fact_similarities(facts)))
    else:
        scorer = load_scorer(model, precision="auto")
        near = Neighbourhoods(facts, k=VISIBLE, metric=scorer.form.metric)
        rankings = [entry.ranking for entry in ChainRanker(scorer, near).rank(questions)]
    values = evaluate_chains(questions, facts, rankings).values
    return {"MAP": (values, np.ones(len(values)))}


def _facts(folder: Path) -> FactTables:
    return read_fact_tables(folder / "tables")
