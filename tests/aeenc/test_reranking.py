"""Re-rankers in training: lists and negatives, the loss by hand, and whether the order of lists is learnt."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from entail.aeenc.config import RerankerConfig
from entail.aeenc.pairs import gold_pairs, judged_pairs
from entail.aeenc.reranking.training import RerankTask, query_lists, train_reranker
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, gold_children
from entail.encoders.catalogue import resolve
from entail.encoders.cross.reranker import Reranker
from entail.encoders.training_queries import training_queries_of
from entail.errors import TrainingError
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.factory import rerank
from entail.index.lexical import Bm25Index
from entail.training.adapters.tower import CrossTower, Lora
from entail.training.method import Run
from tests.aeenc.conftest import SMALL, Trees

CONFIG = RerankerConfig(
    **{**SMALL, "rank": 8, "epochs": 20, "dropout": 0.0, "max_length": 32},
    **{"retriever": "bm25", "nearest": 40, "weight": 30.0, "depth": 40},
)


def test_negatives_are_near_premises_that_do_not_explain(facts: Corpus, trees: Trees) -> None:
    pairs, index = gold_pairs(facts, trees), Bm25Index(facts)
    lists = query_lists(facts, pairs, index, nearest=10, closed=True)
    gold = gold_children(trees)
    assert [query_list.query for query_list in lists] == list(gold)
    for query_list, near in zip(lists, index.search(list(gold), k=10).positions, strict=True):
        texts = {facts.texts[at] for at in query_list.negatives}
        assert texts == {facts.texts[at] for at in near} - set(gold[query_list.query]) - {query_list.query}
        assert {facts.texts[at] for at in query_list.positives} == set(gold[query_list.query])


def test_what_equals_a_positive_but_for_capitals_is_no_negative() -> None:
    corpus = Corpus.of("facts", ["ice is cold", "Ice is cold", "ice is wet", "is ice cold", "Is ice cold"])
    pairs = judged_pairs(corpus, Judgements.of_pairs([JudgedPair("is ice cold", "ice is cold", True)]))
    (query_list,) = query_lists(corpus, pairs, Bm25Index(corpus), nearest=5, closed=True)
    assert [corpus.texts[at] for at in query_list.negatives] == ["ice is wet"]


def test_of_a_team_only_rejected_premises_are_negatives(facts: Corpus, home: Path) -> None:
    verdicts = [
        JudgedPair("ba be", facts.texts[0], True),
        JudgedPair("ba be", facts.texts[1], False),
        JudgedPair("nothing rejected", facts.texts[0], True),
    ]
    pairs = judged_pairs(facts, Judgements.of_pairs(verdicts))
    (query_list,) = query_lists(facts, pairs, Bm25Index(facts), nearest=10, closed=False)
    judged = query_list.query, query_list.positives.tolist(), query_list.negatives.tolist()
    assert judged == ("ba be", [0], [1])
    with pytest.raises(TrainingError, match="none with both"):
        train_reranker(facts, CONFIG, Bm25Index(facts), judgements=Judgements.of_pairs(verdicts[:1]))


def test_every_epoch_samples_other_negatives_and_a_seed_the_same(
    facts: Corpus, trees: Trees, home: Path
) -> None:
    index = Bm25Index(facts)
    lists = query_lists(facts, gold_pairs(facts, trees), index, nearest=20, closed=True)
    tower = CrossTower(resolve("tiny"), max_length=32, lora=Lora(rank=2), device="cpu")

    def samples(seed: int, epoch: int) -> list[list[int]]:
        task = RerankTask(replace(CONFIG, seed=seed), facts, lists, tower, index=index)
        task.batches(epoch)
        return [task.sample(at).tolist() for at in range(4)]

    first = samples(0, 0)
    assert first == samples(0, 0)
    assert first not in (samples(1, 0), samples(0, 1))
    for at, sample in enumerate(first):
        assert len(sample) == len(set(sample)) == CONFIG.negatives
        assert set(sample) <= set(lists[at].negatives.tolist())


def test_it_learns_the_order_of_lists_and_is_saved_as_it_was(facts: Corpus, trees: Trees, home: Path) -> None:
    index = Bm25Index(facts)
    out = home / "reader"
    run = Run(data=["entailment_bank"], out=out)
    done = train_reranker(facts, CONFIG, index, trees=trees, dev=trees, run=run)
    assert done.fitted.best is not None
    best = done.fitted.best.figures["query_excluded.MAP"]
    assert best > evaluate_premises(facts, trees, index).figures()["query_excluded"]["MAP"] + 0.05
    about = json.loads((out / "entail.json").read_text(encoding="utf-8"))
    assert about["reranker"] == {"max_length": 32, "weight": 30.0, "depth": 40}
    assert about["retriever"]["name"] == "bm25"
    assert "re-ranker" in (out / "README.md").read_text(encoding="utf-8")
    again = evaluate_premises(facts, trees, rerank(index, facts, Reranker("reader"))).figures()
    assert again["query_excluded"]["MAP"] == pytest.approx(best, abs=0.03)  # fp16 on disk
    queries = list(gold_children(trees))
    assert training_queries_of("bm25+reader", [*queries, "new"]) == frozenset(queries)
