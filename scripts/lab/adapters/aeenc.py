"""Adapter of AE-Enc: trainings on gold trees, held to teachers on sentences that nobody judged.

Keys of `extra`, for a training with teachers: `variations` of every training query; `replay`, a set of
questions of another domain, of which `replayed` are held to `replay_teacher`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from entail.aeenc.method import AEENC
from entail.aeenc.training import train_aeenc
from entail.data.passages.files import read_questions
from entail.data.records import gold_children
from entail.evaluation.passages.retrieval import evaluate_passages, judged_questions
from entail.evaluation.passages.store import store_passages
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.factory import retriever
from entail.statistics.ranking import query_values
from entail.training.adapters.averaging import average_adapters
from entail.training.distillation.teachers import Teaching, teach, vary
from lab.adapters import Measures, Work
from lab.data import DataFolder
from lab.errors import LabError

RANKING_MEASURES = ("MAP", "NDCG", "Hit@10", "Hit@50")
"""Measures of premise retrieval, for each view of the queries."""


def train(work: Work) -> None:
    """Train an encoder on the trees of `train` over the premises of `corpus`."""
    train_aeenc(
        work.data.corpus(work.sets["corpus"]),
        work.config(AEENC),
        trees=work.data.trees(work.sets["train"]),
        dev=work.data.trees(work.sets["dev"]) if "dev" in work.sets else (),
        teaching=_teaching(work) if work.teachers else None,
        data=sorted({work.sets[role].split("/")[0] for role in ("train", "replay") if role in work.sets}),
        cache_dir=work.cache / "vectors",
        out=work.out,
    )


def _teaching(work: Work) -> Teaching:
    """Return the teachers' vectors of premises and variations, and a base's of replayed questions."""
    extra = dict(work.extra)
    queries = list(gold_children(work.data.trees(work.sets["train"])))
    variations = vary(queries, count=extra.pop("variations", 0), seed=0)
    texts = work.data.corpus(work.sets["corpus"]).texts
    teaching = teach(list(work.teachers), (*texts, *variations))
    count, teacher = extra.pop("replayed", 0), extra.pop("replay_teacher", "minilm")
    if extra:
        raise LabError(f"expected variations, replayed or replay_teacher, found {', '.join(extra)}")
    if count:
        questions = [question.text for question in read_questions(work.data.path(work.sets["replay"]))]
        order = np.random.default_rng(0).permutation(len(questions))[:count]
        teaching = teaching.join(teach([teacher], [questions[i] for i in order.tolist()]))
    return teaching


def average(folders: Sequence[Path], out: Path, *, rank: int | None) -> None:
    """Write the mean of adapters as one adapter."""
    average_adapters(folders, out, rank=rank)


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure premise retrieval on `trees` by three views of the queries, and R@1 on `passages` if given.

    The views: the query's own premise excluded, as an author sees it; of these the queries that no training
    tree of `train` holds (`unseen`); the paper's, with the query among the candidates (`paper`).
    """
    corpus = data.corpus(sets["corpus"])
    evaluation = evaluate_premises(
        corpus, data.trees(sets["trees"]), retriever(model, corpus, cache_dir=cache / "vectors")
    )
    seen = gold_children(data.trees(sets["train"]))
    unseen = np.array([query not in seen for query in evaluation.queries], dtype=np.float64)
    excluded = query_values(evaluation.query_excluded, ks=evaluation.ks)
    paper = query_values(evaluation.paper, ks=evaluation.ks)
    measures = {name: excluded[name] for name in RANKING_MEASURES}
    measures |= {
        f"{name}, unseen": (excluded[name][0], excluded[name][1] * unseen) for name in RANKING_MEASURES
    }
    measures |= {f"{name}, paper": paper[name] for name in RANKING_MEASURES}
    if "passages" in sets:
        file = data.path(sets["passages"])
        judged = judged_questions(file)
        store = store_passages([file], cache / f"pool-{data.digest(sets['passages'])}")
        hits = evaluate_passages(store, judged, encoder=model).first_hits
        values = np.array([rank == 1 for rank in hits], dtype=np.float64)
        measures["R@1, passages"] = values, np.ones(len(values))
    return measures
