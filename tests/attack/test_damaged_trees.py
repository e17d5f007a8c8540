"""Damaged payloads and evidence in the database: a tree opens, or an error names it; nothing else fails."""

import json
import shutil
import sqlite3
from itertools import islice
from pathlib import Path

import pytest

from entail.data.records import Corpus, Premise
from entail.errors import DamagedTreeError
from entail.trees import formats
from entail.trees.installation.backup import backup, restore
from entail.trees.installation.health import examine
from entail.trees.log import acts
from entail.trees.log.event_log import TreeLog
from entail.trees.review.decisions import judgements_of
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database
from tests.attack.bad_files import damages
from tests.attack.conftest import Tally
from tests.attack.test_bad_files import FULL

ICE, FIRE, SKY = Premise("ice is cold", "u1"), Premise("fire is hot"), Premise("the sky is blue")
SEEN = (acts.ShownCandidate(ICE.key, 1, 0.5),)
EVIDENCE = acts.Evidence(retriever="tfidf", revision="r", corpus_version=1, query="h", shown=SEEN)
ACTS = (
    acts.Accept(node="n1", premise=ICE),
    acts.Reject(node="n1", premise=SKY),
    acts.Finish(node="n1", premises=(FIRE,)),
    acts.Write(node="n1", text="a"),
    acts.Conclude(node="n1", premises=("n2", "n5"), text="b"),
    acts.Edit(node="n5", text="c"),
    acts.Reorder(node="n6", order=("n5", "n2")),
    acts.Move(node="n5", parent="n1"),
    acts.Remove(node="n5"),
)


def story(folder: Path) -> tuple[Path, str]:
    """Write a database with a tree of every act; return its file and the tree's id."""
    file = folder / "story.db"
    database = open_database(f"sqlite:///{file}")
    corpus = CorpusStore(database).add_corpus(Corpus.of("facts", [ICE, FIRE, SKY]), author="Ann")
    log = TreeLog(database)
    nodes = (acts.GivenNode("g", -1, "sent1"),)
    create = acts.Create(hypothesis="h", nodes=nodes, source={"id": "x", "n": [1, 0.5]})
    tree = log.create(create, author="Ann", corpus_id=corpus.id)
    for seq, act in enumerate(ACTS, start=1):
        log.act(tree, act, author="Ann", base=seq, evidence=EVIDENCE if seq < 4 else None)
    log.undo(tree, author="Ann")
    log.redo(tree, author="Ann")
    log.create(acts.Create(hypothesis="whole"), author="Ann", corpus_id=corpus.id)
    database.close()
    return file, tree


def use(log: TreeLog, tree: str, corpus_id: str) -> None:
    """Do with a tree what pages, exports and trainings do."""
    history = log.history(tree)
    for event in history.events:
        history.describe(event, with_author=True)
    formats.to_judged_csv({tree: (history, log.evidence(tree))})
    for write in (formats.to_html, formats.to_graphml, formats.to_dot):
        write(history.tree)
    for act in (acts.Write(node="n1", text="new"), acts.Edit(node="n1", text="other")):
        log.act(tree, act, author="Bob", base=log.history(tree).seq)
    judgements_of(log, corpus_id=corpus_id)


@pytest.mark.parametrize("column", ["payload", "evidence"])
def test_damaged_columns(column: str, tmp_path: Path, tally: Tally) -> None:
    file, tree = story(tmp_path)
    with sqlite3.connect(file) as connection:
        query = f"SELECT seq, {column} FROM events WHERE tree_id = ? AND {column} IS NOT NULL"
        texts: dict[int, str] = dict(connection.execute(query, (tree,)))
    connection.close()
    assert len(texts) >= 3
    attempts, failures = 0, {}
    for seq, text in texts.items():
        variants = islice(damages(text.encode(), seed=seq), seq % 7, None, 13 if FULL else 331)
        for kind, damaged in variants:
            attempts += 1
            path = tmp_path / "damaged.db"
            shutil.copy(file, path)
            with sqlite3.connect(path) as connection:
                query = f"UPDATE events SET {column} = CAST(? AS TEXT) WHERE tree_id = ? AND seq = ?"
                connection.execute(query, (damaged, tree, seq))
            connection.close()
            if failure := attempt_all(path, tree):
                failures[seq, kind] = failure
    tally(attempts=attempts, failures=len(failures))
    assert failures == {}


def attempt_all(place: Path, tree: str) -> str | None:
    """Return what failed with a damaged database, None if nothing did."""
    database = open_database(f"sqlite:///{place}")
    try:
        log, corpus = TreeLog(database), CorpusStore(database).corpora()[0]
        assert len(log.trees()) == 2
        problems = examine(database).problems
        assert json.dumps(problems)
        try:
            use(log, tree, corpus.id)
        except DamagedTreeError as error:
            if tree not in str(error) or not any(tree in problem for problem in problems):
                return f"not named: {error}"
        judgements_of(log, corpus_id=corpus.id)
        backup(place.with_name("b.zip"), url=f"sqlite:///{place}", overwrite=True)
        for old in place.parent.glob("new.db*"):
            old.unlink()
        restore(place.with_name("b.zip"), url=f"sqlite:///{place.with_name('new.db')}")
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        database.close()
    return None
