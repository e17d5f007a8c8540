"""The bundled sample in a new database."""

from __future__ import annotations

import threading

from entail.data.bundled import SAMPLE_NAME, sample_corpus, sample_trees
from entail.data.records import Corpus
from entail.trees.formats.entailment_bank import refold
from entail.trees.log.event_log import TreeLog
from entail.trees.store.authors import Authors
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from entail.trees.store.health import examine
from entail.trees.store.seed import SAMPLE_ID, seed_sample


def test_the_sample_is_there_once(database: Database) -> None:
    seed_sample(database)
    seed_sample(database)
    store, log = CorpusStore(database), TreeLog(database)
    assert [info.id for info in store.corpora()] == [SAMPLE_ID]
    assert store.corpus(SAMPLE_ID).hash == sample_corpus().hash
    trees = log.trees(corpus_id=SAMPLE_ID)
    assert len(trees) == len(sample_trees())
    assert all(tree.example for tree in trees)
    assert examine(database).problems == ()


def test_the_trees_are_the_official_ones(sqlite: Database) -> None:
    seed_sample(sqlite)
    log = TreeLog(sqlite)
    stored = sorted((refold(log.history(tree.id).tree) for tree in log.trees()), key=lambda tree: tree.id)
    official = sorted(sample_trees(), key=lambda tree: tree.id)
    assert [(tree.id, tree.steps) for tree in stored] == [(tree.id, tree.steps) for tree in official]


def test_two_processes_seed_at_once(database_url: str) -> None:
    start, errors = threading.Barrier(3), []

    def seed() -> None:
        database = open_database(database_url)
        start.wait()
        try:
            seed_sample(database)
        except Exception as error:
            errors.append(error)
        finally:
            database.close()

    threads = [threading.Thread(target=seed) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    database = open_database(database_url)
    assert len(TreeLog(database).trees()) == len(sample_trees())
    database.close()


def test_a_corpus_of_that_name_is_left_alone(sqlite: Database) -> None:
    CorpusStore(sqlite).add_corpus(Corpus.of(SAMPLE_NAME, ["mine"]), author="Ann")
    seed_sample(sqlite)
    assert [info.count for info in CorpusStore(sqlite).corpora()] == [1]
    assert TreeLog(sqlite).trees() == []


def test_a_database_that_can_only_be_read_is_left_as_it_is(sqlite: Database, tmp_path: object) -> None:
    Authors(sqlite).enter("Ann")
    assert sqlite.file is not None
    reader = open_database(f"sqlite:///{sqlite.file}", read_only=True)
    seed_sample(reader)
    assert CorpusStore(reader).corpora() == []
    reader.close()
