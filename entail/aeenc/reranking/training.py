"""Training of a re-ranker on gold trees or on the decisions of a team."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from entail.aeenc.pairs import gold_pairs, judged_pairs
from entail.aeenc.reranking.config import RerankerConfig
from entail.aeenc.reranking.lists import RankedList, query_lists
from entail.aeenc.reranking.task import RerankTask
from entail.data.judgements import Judgements
from entail.data.records import Corpus, ExplanationTree
from entail.data.text import premise_key
from entail.encoders.card import write_training_queries
from entail.encoders.cross.reranker import METHOD, RerankerForm
from entail.errors import TrainingError
from entail.index.protocol import PremiseIndex
from entail.training.adapters.cross_tower import CrossTower
from entail.training.method import Run
from entail.training.run import Training, digest, prepare, sample_rows


def train_reranker(
    corpus: Corpus,
    config: RerankerConfig,
    index: PremiseIndex,
    *,
    trees: Sequence[ExplanationTree] = (),
    judgements: Judgements | None = None,
    dev: Sequence[RankedList] = (),
    run: Run | None = None,
) -> Training[RerankerConfig]:
    """Train a re-ranker.

    The best weights are those of the highest MAP of the dev lists; without them the last are kept. Processes
    started by `torchrun` train one re-ranker together.

    The index is a retriever over the corpus, whose lists it learns to order. With gold trees, premises of a
    list that do not explain the query are negatives; with judgements of a team, rejected premises are.

    Raises:
        TrainingError: If there is no query with positives and negatives, a loss is not finite, the folder
            holds something else or is in use by another process, or the training was stopped.
        CheckpointError: If a checkpoint has another base, data or configuration.
        EncoderError: If the base cannot be loaded.
    """
    pairs = gold_pairs(corpus, trees) if judgements is None else judged_pairs(corpus, judgements)
    lists = query_lists(corpus, pairs, index, nearest=config.nearest, closed=judgements is None)
    if not lists:
        raise TrainingError(
            f"expected queries with premises that explain them and premises that do not, found "
            f"{len(pairs.queries)} queries, none with both; reject some candidates first"
        )
    setup = prepare(config, run, method=METHOD)
    tower = CrossTower(setup.base, max_length=config.max_length, seed=config.seed, **setup.tower)
    dev_sample = sample_rows(dev, config.dev_queries)
    task = RerankTask(config, corpus, lists, tower, dev=dev_sample)
    rows = [[item.query, item.positives.tolist(), item.negatives.tolist()] for item in lists]
    bound_to = {
        "corpus": corpus.hash,
        "data": digest(rows),
        "dev": digest([[ranked_list.query, ranked_list.positions.tolist()] for ranked_list in dev_sample]),
    }
    fitted = setup.fit(task, tower.parameters, bound_to=bound_to)
    form = RerankerForm(max_length=tower.max_length, weight=config.weight, depth=config.depth)
    training = setup.result(
        fitted,
        {
            "queries": len(lists),
            "positives": sum(len(query_list.positives) for query_list in lists),
            "negatives to sample from": sum(len(query_list.negatives) for query_list in lists),
            "steps": fitted.steps,
        },
        measure="MAP",
        reranker=form.to_json(),
        missing=list(pairs.missing),
    )
    keys = [premise_key(query_list.query) for query_list in lists]

    def write(folder: Path) -> None:
        tower.save(folder)
        write_training_queries(folder, keys)

    setup.save(
        training,
        write,
        reranker=form.to_json(),
        retriever={"name": index.name, "revision": index.manifest.revision},
    )
    return training
