"""The bundled sample in a new database."""

from entail.data.bundled import SAMPLE_NAME
from entail.data.records import Corpus
from entail.trees.formats.entailment_bank import refold
from entail.trees.installation.health import examine
from entail.trees.installation.seed import BUNDLES, HELD_OUT_ID, SAMPLE_ID, seed_sample
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from tests.trees.conftest import at_once


def test_the_official_sample_is_there_once_whoever_seeds_at_once(
    database: Database, database_url: str
) -> None:
    at_once(lambda _number: seed_sample(open_database(database_url)), range(3))
    seed_sample(database)
    store, log = CorpusStore(database), TreeLog(database)
    assert {info.id for info in store.corpora()} == {SAMPLE_ID, HELD_OUT_ID}
    for bundle in BUNDLES:
        assert store.corpus(bundle.id).hash == bundle.corpus().hash
        trees = log.trees(corpus_id=bundle.id)
        assert all(tree.example for tree in trees)
        stored = sorted((row.id, row.steps) for row in (refold(log.history(tree.id).tree) for tree in trees))
        assert stored == sorted((row.id, row.steps) for row in bundle.trees())
    assert log.trees()[0].corpus_id == HELD_OUT_ID, "first in lists"
    assert examine(database).problems == ()


def test_a_corpus_of_that_name_is_left_alone(sqlite: Database) -> None:
    own = CorpusStore(sqlite).add_corpus(Corpus.of(SAMPLE_NAME, ["mine"]), author="Ann").id
    seed_sample(sqlite)
    assert CorpusStore(sqlite).info(own).count == 1
    assert {tree.corpus_id for tree in TreeLog(sqlite).trees()} == {HELD_OUT_ID}
