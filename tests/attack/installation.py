"""A database and models whose whole content has one name, so that a mixture of two is seen."""

from contextlib import closing

from entail.data.records import Corpus
from entail.settings import load_settings
from entail.trees.installation.health import examine
from entail.trees.log.acts import Create, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store import schema
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database


def empty(url: str) -> None:
    with closing(open_database(url)) as database, database.writing() as connection:
        for table in reversed(schema.metadata.sorted_tables):
            connection.execute(table.delete())


def check_health(url: str | None = None) -> None:
    with closing(open_database(url)) as database:
        assert examine(database).problems == ()


def fill(url: str, name: str) -> None:
    """Fill a database and the folder of models, by name."""
    with closing(open_database(url)) as database:
        facts = [f"fact {number} of {name}" for number in range(300)]
        corpus = CorpusStore(database).add_corpus(Corpus.of(name, facts), author=name)
        log = TreeLog(database)
        for number in range(5):
            tree = log.create(Create(hypothesis=name), author=name, corpus_id=corpus.id)
            log.act(tree, Write(node="n1", text=f"{number}"), author=name, base=1)
    models = load_settings().data_dir / "models"
    for number in range(3):
        (models / f"m{number}").mkdir(parents=True, exist_ok=True)
        (models / f"m{number}" / "x").write_bytes(name.encode() * 50_000)


def read_names(url: str) -> set[str]:
    """Return the names that the content of an installation has: one, or it is mixed."""
    with closing(open_database(url)) as database:
        trees, corpora = TreeLog(database).trees(), CorpusStore(database).corpora()
        assert (len(trees), len(corpora)) == (5, 1)
    models = sorted((load_settings().data_dir / "models").glob("*/x"))
    assert len(models) == 3
    return {
        *(tree.hypothesis for tree in trees),
        *(corpus.name for corpus in corpora),
        *(file.read_bytes()[: file.stat().st_size // 50_000].decode() for file in models),
    }
