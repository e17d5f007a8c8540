"""Trees in a database: append, two authors, undo, redo, lists; the same for SQLite and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.errors import (
    ActError,
    ConflictError,
    CorpusError,
    UnknownTreeError,
)
from entail.trees.installation.health import examine
from entail.trees.log.acts import (
    Accept,
    Create,
    Edit,
    Evidence,
    Reject,
    Remove,
    ShownCandidate,
    Write,
)
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT
from entail.trees.store import schema
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database

ICE, FIRE = Premise("ice is cold", "u1"), Premise("fire is hot")
EVIDENCE = Evidence(
    retriever="minilm",
    revision="r1",
    corpus_version=2,
    query="snow",
    own_words=True,
    shown=(ShownCandidate(ICE.key, 1, 0.75), ShownCandidate(FIRE.key, 2, 0.5)),
)


@pytest.fixture
def log(database: Database) -> TreeLog:
    return TreeLog(database)


@pytest.fixture
def tree(log: TreeLog) -> str:
    return log.create(Create(hypothesis="snow melts in spring"), author="Ann")


# --- create, act, history ---


def test_a_snapshot_reads_one_state_in_one_transaction(log: TreeLog, database: Database) -> None:
    tree, begun = log.create(Create(hypothesis="snow is cold"), author="Ann"), []
    sa.event.listen(database.engine, "begin", begun.append)
    with log.snapshot():
        assert (log.history(tree).seq, log.summary(tree).seq) == (1, 1)
        assert len(begun) == 1
        log.act(tree, Write(node=ROOT, text="snow is ice"), author="Ben", base=1)
        assert (log.history(tree).seq, log.summary(tree).seq) == (1, 1)
    assert (log.history(tree).seq, log.summary(tree).seq) == (2, 2)


def test_acts_are_there_for_another_process(log: TreeLog, tree: str, database_url: str) -> None:
    log.act(tree, Accept(node=ROOT, premise=ICE), author="Ann", base=1, evidence=EVIDENCE)
    after = log.act(tree, Write(node="n2", text="ice is frozen water"), author="Bob", base=2)
    other = open_database(database_url)
    assert TreeLog(other).history(tree) == after == log.history(tree)
    assert [e.author for e in after.events] == ["Ann", "Ann", "Bob"]


def test_a_tree_that_makes_no_sense_is_not_begun(log: TreeLog) -> None:
    with pytest.raises(ActError):
        log.create_all([Create(hypothesis="fine"), Create(hypothesis="")], author="Ann")
    with pytest.raises(CorpusError):
        log.create(Create(hypothesis="h"), author="Ann", corpus_id="nothing")
    with pytest.raises(ActError):
        log.create(Create(hypothesis="h"), author=" ")
    assert log.trees() == []


def test_a_clock_that_was_set_back_does_not_turn_the_order_round(
    log: TreeLog, tree: str, database: Database
) -> None:
    ahead = datetime.now(UTC) + timedelta(hours=1)
    with database.writing() as connection:
        connection.execute(sa.update(schema.events).values(at=ahead))
    history = log.act(tree, Write(node=ROOT, text="a"), author="Ann", base=1)
    assert [e.at for e in history.events] == [ahead, ahead]


def test_evidence_is_kept_apart(log: TreeLog, tree: str, database: Database) -> None:
    log.act(tree, Accept(node=ROOT, premise=ICE), author="Ann", base=1, evidence=EVIDENCE)
    log.act(tree, Reject(node=ROOT, premise=FIRE), author="Ann", base=2)
    assert log.evidence(tree) == {2: EVIDENCE}
    assert TreeLog(database).history(tree).event(2).evidence is None


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


def test_a_refused_act_leaves_nothing(log: TreeLog, tree: str, database: Database) -> None:
    before = log.act(tree, Edit(node=ROOT, text="snow melts in May"), author="Ann", base=1)
    for act, error in ((Remove(node="n7"), ActError), (Accept(node=ROOT, premise=ICE), ConflictError)):
        with pytest.raises(error):
            log.act(tree, act, author="Newcomer", base=1)
    assert log.history(tree) == before
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


# --- lists ---


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


def test_trees_are_listed_the_last_changed_first(log: TreeLog, database: Database) -> None:
    corpus = CorpusStore(database).add_corpus(Corpus.of("facts", ["a"]), author="Ann")
    first = log.create(Create(hypothesis="one"), author="Ann", corpus_id=corpus.id)
    second = log.create(Create(hypothesis="two"), author="Ann", example=True)
    assert [t.id for t in log.trees()] == [second, first]
    log.act(first, Write(node=ROOT, text="a"), author="Bob", base=1)
    assert [t.id for t in log.trees()] == [first, second]
    assert [t.id for t in log.trees(corpus_id=corpus.id)] == [first]
    assert [t.example for t in log.trees()] == [False, True]


def test_an_archived_tree_can_be_brought_back(log: TreeLog, tree: str) -> None:
    log.archive(tree, author="Bob")
    example = log.create(Create(hypothesis="an example"), author="Ann", example=True)
    assert [t.id for t in log.trees()] == [example]
    assert [t.id for t in log.trees(archived=True)] == [tree]
    assert [t.id for t in log.trees(archived=None, examples=False)] == [tree]
    log.act(tree, Write(node=ROOT, text="a"), author="Ann", base=1)
    assert log.summary(tree).archived
    log.archive(tree, author="Bob", archived=False)
    assert {t.id for t in log.trees()} == {example, tree}
