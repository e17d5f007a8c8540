"""Trees in a database: append, two authors, undo, redo, lists; the same for SQLite and PostgreSQL."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from entail.data.records import Corpus
from entail.errors import (
    ActError,
    ConflictError,
    CorpusError,
    UnknownTreeError,
)
from entail.trees.installation.health import examine
from entail.trees.log.acts import Accept, Create, Edit, Reject, Remove, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT
from entail.trees.store import schema
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from tests.trees.conftest import EVIDENCE, FIRE, ICE


@pytest.fixture
def log(database: Database) -> TreeLog:
    return TreeLog(database)


@pytest.fixture
def tree(log: TreeLog) -> str:
    return log.create(Create(hypothesis="snow melts in spring"), author="Ann")


def test_a_snapshot_reads_one_state_in_one_transaction(log: TreeLog, database: Database) -> None:
    tree, begun = log.create(Create(hypothesis="snow is cold"), author="Ann"), []
    sa.event.listen(database.engine, "begin", begun.append)
    with log.snapshot():
        assert (log.history(tree).seq, log.summary(tree).seq) == (1, 1)
        assert len(begun) == 1
        log.act(tree, Write(node=ROOT, text="snow is ice"), author="Ben", base=1)
        assert (log.history(tree).seq, log.summary(tree).seq) == (1, 1)
    assert (log.history(tree).seq, log.summary(tree).seq) == (2, 2)


def test_acts_are_there_for_another_process_and_evidence_apart(
    log: TreeLog, tree: str, database_url: str
) -> None:
    log.act(tree, Accept(node=ROOT, premise=ICE), author="Ann", base=1, evidence=EVIDENCE)
    after = log.act(tree, Write(node="n2", text="ice is frozen water"), author="Bob", base=2)
    other = TreeLog(open_database(database_url))
    assert other.history(tree) == after == log.history(tree)
    assert [e.author for e in after.events] == ["Ann", "Ann", "Bob"]
    assert (other.evidence(tree), other.history(tree).event(2).evidence) == ({2: EVIDENCE}, None)


def test_a_clock_that_was_set_back_does_not_turn_the_order_round(
    log: TreeLog, tree: str, database: Database
) -> None:
    ahead = datetime.now(UTC) + timedelta(hours=1)
    with database.writing() as connection:
        connection.execute(sa.update(schema.events).values(at=ahead))
    history = log.act(tree, Write(node=ROOT, text="a"), author="Ann", base=1)
    assert [e.at for e in history.events] == [ahead, ahead]


@pytest.mark.parametrize("tree_id", ["00000000", "", "'; drop table trees; --", "\ud800", "A" * 8])
def test_an_unknown_tree(log: TreeLog, tree_id: str) -> None:
    for call in (
        lambda: log.history(tree_id),
        lambda: log.summary(tree_id),
        lambda: log.evidence(tree_id),
        lambda: log.act(tree_id, Write(node=ROOT, text="a"), author="Ann", base=1),
        lambda: log.undo(tree_id, author="Ann"),
        lambda: log.archive(tree_id, author="Ann"),
    ):
        with pytest.raises(UnknownTreeError):
            call()


def test_a_refused_act_or_tree_leaves_nothing(log: TreeLog, tree: str, database: Database) -> None:
    before = log.act(tree, Edit(node=ROOT, text="snow melts in May"), author="Ann", base=1)
    for act, error in ((Remove(node="n7"), ActError), (Accept(node=ROOT, premise=ICE), ConflictError)):
        with pytest.raises(error):
            log.act(tree, act, author="Newcomer", base=1)
    with pytest.raises(ActError):
        log.create_all([Create(hypothesis="fine"), Create(hypothesis="")], author="Newcomer")
    with pytest.raises(CorpusError):
        log.create(Create(hypothesis="h"), author="Newcomer", corpus_id="nothing")
    with pytest.raises(ActError):
        log.create(Create(hypothesis="h"), author=" ")
    assert log.history(tree) == before
    assert [summary.id for summary in log.trees()] == [tree]
    assert examine(database).rows["authors"] == 1


def test_a_known_history_is_extended_not_replayed(
    log: TreeLog, tree: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert log.history(tree).seq == 1
    for seq in (1, 2):
        TreeLog(database).act(tree, Write(node=ROOT, text=f"sentence {seq}"), author="Bob", base=seq)
    monkeypatch.setattr("entail.trees.log.event_log.replay", lambda events: pytest.fail("replayed"))
    history = log.history(tree)
    assert [history.tree.node(name).text for name in ("n2", "n3")] == ["sentence 1", "sentence 2"]


def test_another_log_under_the_same_id_is_seen(log: TreeLog, tree: str, database: Database) -> None:
    log.act(tree, Write(node=ROOT, text="a"), author="Ann", base=1)
    with database.writing() as connection:
        connection.execute(
            sa.update(schema.events)
            .where(schema.events.c.seq == 2)
            .values(payload={"node": "n1", "text": "restored"}, at=datetime.now(UTC))
        )
    assert log.history(tree).tree.node("n2").text == "restored"
    with database.writing() as connection:
        connection.execute(sa.delete(schema.events).where(schema.events.c.seq == 2))
    assert log.history(tree).seq == 1
    assert log.act(tree, Write(node=ROOT, text="b"), author="Ann", base=1).seq == 2


def test_a_summary_says_what_its_log_says(log: TreeLog, tree: str) -> None:
    log.act(tree, Accept(node=ROOT, premise=ICE), author="Ann", base=1)
    log.act(tree, Reject(node=ROOT, premise=FIRE), author="Bob", base=2)
    log.act(tree, Edit(node=ROOT, text="snow melts in May"), author="Ann", base=3)
    history, summary = log.history(tree), log.summary(tree)
    assert (summary.id, summary.corpus_id, summary.archived, summary.example) == (tree, None, False, False)
    assert (summary.hypothesis, summary.seq, summary.authors) == ("snow melts in May", 4, ("Ann", "Bob"))
    assert (summary.premises, summary.steps, summary.judgements) == (1, 1, 2)
    assert (summary.created_at, summary.created_by) == (history.events[0].at, "Ann")
    assert (summary.changed_at, summary.changed_by) == (history.events[-1].at, "Ann")
    log.undo(tree, author="Ann")
    assert (log.summary(tree).hypothesis, log.summary(tree).seq) == ("snow melts in spring", 5)


def test_trees_are_listed_the_last_changed_first_without_archived_ones(
    log: TreeLog, database: Database
) -> None:
    corpus = CorpusStore(database).add_corpus(Corpus.of("facts", ["a"]), author="Ann")
    first = log.create(Create(hypothesis="one"), author="Ann", corpus_id=corpus.id)
    second = log.create(Create(hypothesis="two"), author="Ann", example=True)
    assert [t.id for t in log.trees()] == [second, first]
    log.act(first, Write(node=ROOT, text="a"), author="Bob", base=1)
    assert [(t.id, t.example) for t in log.trees()] == [(first, False), (second, True)]
    assert [t.id for t in log.trees(corpus_id=corpus.id)] == [first]
    log.archive(first, author="Bob")
    assert [t.id for t in log.trees()] == [second]
    assert [t.id for t in log.trees(archived=True)] == [first]
    assert [t.id for t in log.trees(archived=None, examples=False)] == [first]
    log.act(first, Write(node=ROOT, text="b"), author="Ann", base=2)
    assert log.summary(first).archived
    log.archive(first, author="Bob", archived=False)
    assert {t.id for t in log.trees()} == {second, first}
