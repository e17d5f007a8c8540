"""Adapter of ARCF: trainings on a release of WorldTree, measured by the MAP of its dev questions.

`worldtree#fit` lacks every tenth of its training questions, `worldtree#held` is measured on these.

Key of `extra`: with `random_start` the weights of the base are drawn at random (Table 2b).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from entail.arcf.chains.chain import ChainRanker
from entail.arcf.method import ARCF
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.scorer import load_scorer
from entail.arcf.training import train_arcf
from entail.data.worldtree.questions import Question, read_questions
from entail.data.worldtree.tables import FactTables, read_fact_tables
from entail.encoders.catalogue import fetch, resolve
from entail.evaluation.chains import evaluate_chains, fact_similarities, tfidf_rankings, with_gold
from entail.training.method import Run
from lab.adapters import Measures, Work
from lab.data import DataFolder, in_part

VISIBLE = 60
"""Visible premises at each step of a chain that is measured."""


def train(work: Work) -> None:
    """Train a scorer on all explained questions, but for those that a tree of `left_out` explains."""
    folder = work.data.path(work.sets["release"])
    trees = work.data.trees(work.sets["left_out"]) if "left_out" in work.sets else ()
    ids = {tree.id for tree in trees}
    config = work.config(ARCF)
    if work.extra.get("random_start"):
        config = replace(config, base=str(_random_base(config.base, work.cache / f"random-{work.seed}")))
    train_arcf(
        [question for question in _training_questions(work.data, work.sets) if question.id not in ids],
        _facts(folder),
        config,
        run=Run(data=["worldtree"], out=work.out),
    )


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure the rankings of a scorer, or those by tf-idf, of the dev questions that are scored."""
    folder = data.path(sets["release"])
    facts = _facts(folder)
    if sets["release"].endswith("#held"):
        questions = with_gold(_training_questions(data, sets))
    else:
        questions = with_gold(read_questions(folder / "questions.dev.tsv").scored)
    if model == "tfidf":
        rankings = list(tfidf_rankings(questions, fact_similarities(facts)))
    else:
        scorer = load_scorer(model, precision="auto")
        near = Neighbourhoods(facts, k=VISIBLE, metric=scorer.form.metric)
        rankings = [entry.ranking for entry in ChainRanker(scorer, near).rank(questions)]
    values = evaluate_chains(questions, facts, rankings).values
    return {"MAP": (values, np.ones(len(values)))}


def _training_questions(data: DataFolder, sets: Mapping[str, str]) -> list[Question]:
    """Return the explained training questions of a release, or of its part."""
    questions = read_questions(data.path(sets["release"]) / "questions.train.tsv").explained
    part = sets["release"].partition("#")[2]
    return [question for i, question in enumerate(questions) if in_part(i, part)]


def _random_base(name: str, folder: Path) -> Path:
    """Write a base with other weights: normal ones of deviation .02, as BERT's are drawn."""
    source = fetch(resolve(name)).path
    if folder.is_dir() or source is None:
        return folder
    rng = np.random.default_rng(0)
    weights = load_file(source / "model.safetensors")
    for key, values in weights.items():
        if values.ndim == 2:
            values[:] = rng.normal(0, 0.02, values.shape)
        elif values.dtype.kind == "f":
            values[:] = key.endswith("LayerNorm.weight")
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _facts(folder: Path) -> FactTables:
    return read_fact_tables(folder / "tables")
