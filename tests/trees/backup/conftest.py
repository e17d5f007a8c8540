"""Databases with something in every column, and backups of them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.trees.installation.backup import backup
from entail.trees.installation.health import examine
from entail.trees.log.acts import Accept, Create, Evidence, Finish, GivenNode, Reject, ShownCandidate
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT
from entail.trees.store import schema
from entail.trees.store.authors import Authors
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database

ICE = Premise("ice is cold", "u1")
EVIDENCE = Evidence(
    retriever="tfidf", revision="r", corpus_version=2, query="snow", shown=(ShownCandidate(ICE.key, 1, 0.1),)
)


def fill(database: Database) -> None:
    """Put something into every column of every table."""
    store, log = CorpusStore(database), TreeLog(database)
    corpus = store.add_corpus(Corpus.of("facts — “raw”", [ICE, "fire is hot"]), author="Ann", licence="CC0")
    store.add(corpus.id, ["snow\tis  ice", "🌳 <b>"], author="Bob")
    store.correct(corpus.id, ICE.key, "ice is very cold", author="Ann")
    nodes = (GivenNode("a", -1, "int1"), GivenNode("b", 0, "sent1"), GivenNode("c", None))
    tree = log.create(
        Create(hypothesis="h", nodes=nodes, source={"id": "row", "n": [1, 2.5, None, {"π": True}]}),
        author="Ann",
        corpus_id=corpus.id,
        example=True,
    )
    log.act(tree, Accept(node=ROOT, premise=ICE), author="Bob", base=1, evidence=EVIDENCE)
    log.act(tree, Reject(node=ROOT, premise=Premise("fire is hot")), author="Bob", base=2)
    log.act(tree, Finish(node="n1.1", premises=(ICE,)), author="Cleo", base=3)
    log.undo(tree, author="Cleo")
    Authors(database).record_presence(tree, "Cleo", "n1.1")
    log.archive(log.create(Create(hypothesis="put away"), author="Dan"), author="Ann")


def content(database: Database) -> dict[str, Any]:
    """Return all that can be read from a database."""
    store, log = CorpusStore(database), TreeLog(database)
    with database.reading() as connection:
        presences = [tuple(row) for row in connection.execute(sa.select(schema.presence))]
    trees, corpora = log.trees(archived=None), store.corpora()
    return {
        "trees": trees,
        "histories": [log.history(tree.id) for tree in trees],
        "evidence": [log.evidence(tree.id) for tree in trees],
        "corpora": corpora,
        "versions": [store.corpus(c.id, version=v + 1) for c in corpora for v in range(c.version)],
        "changes": [store.changes(corpus.id) for corpus in corpora],
        "authors": Authors(database).names(),
        "here": presences,
    }


@pytest.fixture
def filled(database: Database, database_url: str) -> str:
    fill(database)
    database.close()
    return database_url


def read(url: str) -> dict[str, Any]:
    with closing(open_database(url)) as database:
        assert examine(database).problems == ()
        return content(database)


@pytest.fixture
def saved(tmp_path: Path, sqlite: Database) -> Path:
    """Give a backup of a small database."""
    fill(sqlite)
    return backup(tmp_path / "saved.zip", url=f"sqlite:///{sqlite.file}").file


def new_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'new' / 'x.db'}"


def rewrite(
    file: Path, change: Callable[[dict[str, bytes], dict[str, Any]], object], *, seal: bool = True
) -> None:
    """Change the parts and the manifest of a backup; with `seal`, make the digests fit again."""
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(parts.pop("manifest.json"))
    change(parts, manifest)
    if seal:
        manifest["parts"] = {
            name: {"size": len(data), "lines": data.count(b"\n"), "sha256": sha256(data).hexdigest()}
            for name, data in parts.items()
        }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest))


def table(change: Callable[[list[dict[str, Any]]], object], name: str) -> Any:
    """Return a change to the rows of a table."""

    def rows(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
        records = [json.loads(line) for line in parts[f"tables/{name}.jsonl"].splitlines()]
        change(records)
        parts[f"tables/{name}.jsonl"] = "".join(json.dumps(row) + "\n" for row in records).encode()

    return rows
