"""A demo: the team's database stays as it is, whatever visitors do."""

import gc
import shutil
from pathlib import Path

import pytest

from entail.data.records import Corpus
from entail.errors import CorpusError, DatabaseError, DemoError, UnknownTreeError
from entail.trees.installation import demo
from entail.trees.installation.backup import restore
from entail.trees.installation.demo import VisitorLog, open_shown
from entail.trees.installation.seed import HELD_OUT_ID, SAMPLE_ID
from entail.trees.log.acts import Create, Edit, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.authors import Authors
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database
from tests.support.machine import digests


@pytest.fixture
def team(own_data_folder: Path, sqlite_with_tables: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Make a team's database with one corpus and one tree, and the installation a demo; return their ids."""
    own_data_folder.mkdir()
    shutil.copy(sqlite_with_tables, own_data_folder / "entail.db")
    database = open_database()
    corpus = CorpusStore(database).add_corpus(Corpus.of("facts", ["ice is cold", "ice floats"]), author="Ada")
    tree = TreeLog(database).create(Create(hypothesis="ice is water"), author="Ada", corpus_id=corpus.id)
    database.close()
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    return corpus.id, tree


def visitor() -> VisitorLog:
    database, _ = open_shown()
    return VisitorLog(TreeLog(database), CorpusStore(database))


def test_the_teams_database_cannot_be_written(team: tuple[str, str], tmp_path: Path) -> None:
    corpus, _ = team
    before = digests(tmp_path / "data")
    database = open_database()
    store = CorpusStore(database)
    for change in (
        lambda: store.add(corpus, ["new"], author="Eve"),
        lambda: store.add_corpus(Corpus.of("mine", ["a"]), author="Eve"),
        lambda: store.retire(corpus, [store.corpus(corpus).keys[0]], author="Eve"),
        lambda: TreeLog(database).create(Create(hypothesis="x"), author="Eve"),
    ):
        with pytest.raises(DatabaseError, match="this is a demo"):
            change()
    assert Authors(database).enter("Eve") == "Eve"
    assert Authors(database).names() == ["Ada"]
    database.close()
    with pytest.raises(DemoError):
        restore(tmp_path / "none.zip")
    assert digests(tmp_path / "data") == before


def test_a_visitor_sees_both_and_writes_their_own(team: tuple[str, str], tmp_path: Path) -> None:
    corpus, theirs = team
    before = digests(tmp_path / "data")
    log = visitor()
    mine = log.create(Create(hypothesis="snow is ice"), author="Eve", corpus_id=corpus)
    assert [tree.id for tree in log.trees()] == [mine, theirs]
    assert [tree.id for tree in log.trees(corpus_id=corpus)] == [mine, theirs]
    history = log.act(mine, Write(node="n1", text="snow is cold"), author="Eve", base=1)
    assert history.tree.root.children == ("n2",)
    assert log.undo(mine, author="Eve").tree.root.children == ()
    assert log.summary(mine).corpus_id == corpus
    assert log.history(theirs).tree.root.text == log.summary(theirs).hypothesis == "ice is water"
    assert log.evidence(mine) == log.evidence(theirs) == {}
    log.archive(mine, author="Eve")
    assert [tree.id for tree in log.trees(archived=True)] == [mine]
    with pytest.raises(CorpusError):
        log.create(Create(hypothesis="c"), author="Eve", corpus_id="00000000")
    for change in (
        lambda: log.act(theirs, Edit(node="n1", text="ice is dry"), author="Ada", base=1),
        lambda: log.undo(theirs, author="Ada"),
        lambda: log.archive(theirs, author="Ada"),
    ):
        with pytest.raises(DemoError):
            change()
    for unknown in ("00000000", "ünknown"):
        with pytest.raises(UnknownTreeError):
            log.archive(unknown, author="Ada")
    other = visitor()
    assert not other.owns(mine)
    with pytest.raises(UnknownTreeError):
        other.history(mine)
    assert digests(tmp_path / "data") == before
    for own_log in (other, log):
        own_log.close()


def test_a_visitors_trees_are_few_and_go_with_them(
    team: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(demo, "TREES", 2)
    gone, present = visitor(), visitor()
    gone.archive(gone.create(Create(hypothesis="a"), author="Eve"), author="Eve")
    gone.create(Create(hypothesis="b"), author="Eve")
    with pytest.raises(DemoError):
        gone.create(Create(hypothesis="c"), author="Eve")
    assert len(list(tmp_path.glob("entail-demo-*/scratch.db"))) == 2
    del gone
    gc.collect()
    assert len(list(tmp_path.glob("entail-demo-*"))) == 1
    present.close()


def test_without_a_database_the_sample_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTAIL_DEMO", "1")
    database, scratch = open_shown()
    assert {info.id for info in CorpusStore(database).corpora()} == {SAMPLE_ID, HELD_OUT_ID}
    assert (database.read_only, (tmp_path / "data").exists()) == (True, False)
    scratch.close()
