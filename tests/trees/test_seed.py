"""The bundled sample in a new database."""

from __future__ import annotations

from entail.data.bundled import SAMPLE_NAME, sample_corpus, sample_trees
from entail.data.records import Corpus
from entail.trees.formats.entailment_bank import refold
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from entail.trees.store.health import examine
from entail.trees.store.seed import SAMPLE_ID, seed_sample
from tests.trees.conftest import at_once


def test_the_official_sample_is_there_once(database: Database) -> None:
    seed_sample(database)
    seed_sample(database)
    store, log = CorpusStore(database), TreeLog(database)
    assert [info.id for info in store.corpora()] == [SAMPLE_ID]
    assert store.corpus(SAMPLE_ID).hash == sample_corpus().hash
    trees = log.trees(corpus_id=SAMPLE_ID)
    assert all(tree.example for tree in trees)
    stored = sorted((row.id, row.steps) for row in (refold(log.history(tree.id).tree) for tree in trees))
    assert stored == sorted((row.id, row.steps) for row in sample_trees())
    assert examine(database).problems == ()


def test_three_seed_at_once(database_url: str) -> None:
    at_once(lambda _number: seed_sample(open_database(database_url)), range(3))
    assert len(TreeLog(open_database(database_url)).trees()) == len(sample_trees())


def test_a_corpus_of_that_name_is_left_alone(sqlite: Database) -> None:
    CorpusStore(sqlite).add_corpus(Corpus.of(SAMPLE_NAME, ["mine"]), author="Ann")
    seed_sample(sqlite)
    assert [info.count for info in CorpusStore(sqlite).corpora()] == [1]
    assert TreeLog(sqlite).trees() == []
