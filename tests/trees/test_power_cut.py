"""A running SQLite database after a power cut; for kills see tests/attack."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from entail.trees.installation.health import examine
from entail.trees.log.acts import Create, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database


def test_what_was_not_yet_checkpointed_is_read_from_the_wal(tmp_path: Path) -> None:
    """A copy of the files of a running database is what a power cut leaves behind."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    running = open_database(url)
    log = TreeLog(running)
    tree = log.create(Create(hypothesis="h"), author="Ann")
    for i in range(20):
        log.act(tree, Write(node="n1", text=f"{i}"), author="Ann", base=1)
    (tmp_path / "after").mkdir()
    for end in ("", "-wal"):
        (tmp_path / "after" / f"x.db{end}").write_bytes((tmp_path / f"x.db{end}").read_bytes())
    wal = tmp_path / "after" / "x.db-wal"
    wal.write_bytes(wal.read_bytes()[:-100])  # the last act was half written
    running.close()
    after = open_database(f"sqlite:///{tmp_path / 'after' / 'x.db'}")
    assert TreeLog(after).history(tree).seq == 20
    assert examine(after).problems == ()
    after.close()
    with sqlite3.connect(tmp_path / "after" / "x.db") as plain:
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    plain.close()
