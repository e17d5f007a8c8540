"""Adapter of AE-Enc: trainings on gold trees, held to teachers on sentences that nobody judged.

Keys of `extra`, for a training with teachers: `variations` of every training query; `replayed`, so many
questions of `replay` are held to `replay_teacher`. With `replay_alone` no teacher is needed: the tower of
queries is held to it on these, and one of premises on parts of their paragraphs.

Or `trees`, so many evenly from `train`, that simulated annotators judge, and `merging` of what they say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from entail.aeenc.method import AEENC
from entail.aeenc.pairs import training_corpus
from entail.aeenc.training import train_aeenc
from entail.data.passages.files import read_passages, read_questions
from entail.data.records import gold_children
from entail.data.text import fold
from entail.evaluation.passages.retrieval import evaluate_passages, judged_questions
from entail.evaluation.passages.store import store_passages
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.factory import retriever
from entail.index.protocol import PremiseIndex
from entail.statistics.ranking import query_values
from entail.training.distillation import Teaching, teach
from entail.training.method import Run
from lab.adapters import Measures, Work
from lab.adapters.dpr import take_evenly
from lab.annotators import judge, merge
from lab.data import DataFolder, source_of
from lab.errors import LabError

RANKING_MEASURES = ("MAP", "NDCG", "Hit@10", "Hit@50")
"""Measures of premise retrieval, for each view of the queries."""

DROPPED = 0.2
"""Share of a sentence's words that a variation of it leaves out."""

PART = (20, 60)
"""Fewest and most words of the part of a paragraph that is replayed."""


def train(work: Work) -> None:
    """Train an encoder on the trees of `train` over the premises of `corpus`, or on judgements of them."""
    if "merging" in work.extra:
        _train_on_judgements(work)
        return
    of_queries, of_premises = _teachings(work)
    train_aeenc(
        work.data.corpus(work.sets["corpus"]),
        work.config(AEENC),
        trees=work.data.trees(work.sets["train"]),
        dev=work.data.trees(work.sets["dev"]) if "dev" in work.sets else (),
        teaching=of_queries,
        premise_teaching=of_premises,
        cache_dir=work.cache / "vectors",
        run=Run(
            data=sorted({source_of(work.sets[role]) for role in ("train", "replay") if role in work.sets}),
            out=work.out,
        ),
    )


def _train_on_judgements(work: Work) -> None:
    config, corpus = work.config(AEENC), work.data.corpus(work.sets["corpus"])
    trees = take_evenly(work.data.trees(work.sets["train"]), work.extra["trees"])
    index = retriever(config.base, corpus, cache_dir=work.cache / "vectors")
    judgements = merge(judge(corpus, trees, index, seed=work.seed), trees, work.extra["merging"])
    train_aeenc(
        training_corpus(corpus, judgements=judgements),
        config,
        judgements=judgements,
        cache_dir=work.cache / "vectors",
        run=Run(data=["entailment_bank"], out=work.out),
    )


def _teachings(work: Work) -> tuple[Teaching | None, Teaching | None]:
    """Return what the towers of queries and of premises are held to."""
    if not work.extra.get("replay_alone"):
        return (_teaching(work) if work.teachers else None), None
    file, count = work.data.path(work.sets["replay"]), work.extra["replayed"]
    rng = np.random.default_rng(0)
    questions = rng.permutation([question.text for question in read_questions(file)])[:count].tolist()
    parts = []
    for passage in read_passages(file):
        words = passage.whole.split()
        size = int(rng.integers(*PART, endpoint=True))
        start = int(rng.integers(max(1, len(words) - size)))
        parts.append(" ".join(words[start : start + size]))
    teachers = [work.extra["replay_teacher"]]
    return teach(teachers, questions), teach(teachers, parts)


def _teaching(work: Work) -> Teaching:
    """Return the teachers' vectors of premises and variations, and a base's of replayed questions."""
    extra = {"variations": 0, "replayed": 0, "replay_teacher": "minilm", **work.extra}
    if len(extra) > 3:
        raise LabError(f"expected variations, replayed and replay_teacher at most, found {', '.join(extra)}")
    queries = list(gold_children(work.data.trees(work.sets["train"])))
    variations = vary(queries, count=extra["variations"], seed=0)
    texts = work.data.corpus(work.sets["corpus"]).texts
    teaching = teach(list(work.teachers), (*texts, *variations))
    if count := extra["replayed"]:
        questions = [question.text for question in read_questions(work.data.path(work.sets["replay"]))]
        order = np.random.default_rng(0).permutation(len(questions))[:count]
        teaching = teaching.join(teach([extra["replay_teacher"]], [questions[i] for i in order.tolist()]))
    return teaching


def vary(sentences: Sequence[str], *, count: int, seed: int) -> tuple[str, ...]:
    """Return `count` variations of each sentence: words left out, or another sentence's part as its end.

    Distilling them keeps a tower close to its teachers around the sentences that it memorises.

    >>> vary(["ice is cold"], count=2, seed=1)
    ('ice is', 'ice is ice')
    """
    rng = np.random.default_rng(seed)
    words = [fold(sentence).split() for sentence in sentences]
    variations: dict[str, None] = {}
    for _ in range(count):
        for own in words:
            if rng.random() < 0.5:
                variation = [word for word in own if rng.random() > DROPPED]
            else:
                other = words[rng.integers(len(words))]
                begun = max(2, int(len(own) * rng.uniform(0.3, 0.9)))
                rest = slice(int(len(other) * rng.uniform(0.1, 0.7)))
                variation = own[:begun] + other[rest]
            variations[" ".join(variation)] = None
    originals = {"", *(" ".join(own) for own in words)}
    return tuple(text for text in variations if text not in originals)


def measure(model: str, data: DataFolder, sets: Mapping[str, str], *, cache: Path) -> Measures:
    """Measure premise retrieval on `trees`, and R@1 of questions on `passages` if given."""
    index = retriever(model, data.corpus(sets["corpus"]), cache_dir=cache / "vectors")
    measures = dict(measure_premises(index, data, sets))
    if "passages" in sets:
        file = data.path(sets["passages"])
        store = store_passages([file], cache / f"pool-{data.digest(sets['passages'])}")
        values = evaluate_passages(store, judged_questions(file), encoder=model).values["R@1"]
        measures["R@1, passages"] = values, np.ones(len(values))
    return measures


def measure_premises(index: PremiseIndex, data: DataFolder, sets: Mapping[str, str]) -> Measures:
    """Measure an index on `trees` by three views of the queries.

    The views: the query's own premise excluded, as an author sees it; of these the queries that no training
    tree of `train` has (`unseen`); the paper's, with the query among the candidates (`paper`).
    """
    evaluation = evaluate_premises(data.corpus(sets["corpus"]), data.trees(sets["trees"]), index)
    trained_queries = gold_children(data.trees(sets["train"]))
    unseen = np.array([query not in trained_queries for query in evaluation.queries], dtype=np.float64)
    excluded = query_values(evaluation.query_excluded, ks=evaluation.ks)
    paper = query_values(evaluation.paper, ks=evaluation.ks)
    measures = {name: excluded[name] for name in RANKING_MEASURES}
    for name in RANKING_MEASURES:
        values, weights = excluded[name]
        measures |= {f"{name}, unseen": (values, weights * unseen), f"{name}, paper": paper[name]}
    return measures
