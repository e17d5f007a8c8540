"""Databases and backups of version 0.1, before the packages were moved, open unchanged."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from entail.trees.installation.backup import restore
from entail.trees.log.acts import Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.authors import Authors
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database

FIXTURES = Path(__file__).parent.parent / "fixtures" / "version_0_1"
EXPECTED: dict[str, Any] = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(params=["database", "backup"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path))
    url = f"sqlite:///{tmp_path / 'team.db'}"
    if request.param == "database":
        shutil.copy(FIXTURES / "team.sqlite", tmp_path / "team.db")
    else:
        restore(FIXTURES / "backup.zip", url=url)
    return url


def test_trees_corpora_and_authors_are_there(url: str) -> None:
    database = open_database(url)
    history = TreeLog(database).history(EXPECTED["tree"])
    nodes = {name: [node.text, list(node.children)] for name, node in history.tree.nodes.items()}
    assert (history.seq, nodes) == (EXPECTED["seq"], EXPECTED["nodes"])
    assert sorted(Authors(database).names()) == EXPECTED["authors"]
    store = CorpusStore(database)
    versions = [len(store.corpus(EXPECTED["corpus"], version=version)) for version in (1, 2, 3, 4)]
    assert versions == [4, 5, 5, 4]
    evidence = TreeLog(database).evidence(EXPECTED["tree"])
    assert [candidate.rank for candidate in evidence[2].shown] == [1, 2]


def test_work_goes_on(url: str) -> None:
    database = open_database(url)
    log = TreeLog(database)
    log.act(EXPECTED["tree"], Write(node="n1", text="ice is a solid"), author="Ann", base=EXPECTED["seq"])
    log.undo(EXPECTED["tree"], author="Bob")
    assert log.history(EXPECTED["tree"]).seq == EXPECTED["seq"] + 2
