"""A process killed in the middle of an act: every act that was confirmed is there afterwards."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from entail.trees.log.acts import Create, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from entail.trees.store.health import examine

ACTS = 50

CHILD = """if True:
    import sys
    from entail.trees.log.acts import Write
    from entail.trees.store.database import open_database
    from entail.trees.log.event_log import TreeLog

    url, tree, first, last = sys.argv[1:]
    log = TreeLog(open_database(url))
    for number in range(int(first), int(last)):
        history = log.act(tree, Write(node="n1", text=f"act {number}"), author="Ann", base=1)
        print(history.seq, number, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system knows no kill -9")
def test_every_confirmed_act_survives_kill_9(database_url: str) -> None:
    database = open_database(database_url)
    tree = TreeLog(database).create(Create(hypothesis="h"), author="Ann")
    database.close()
    chance = random.Random(2)
    confirmed: dict[int, int] = {}
    killed = 0
    while len(confirmed) < ACTS:
        number = max(confirmed.values(), default=-1) + 1
        patience = chance.randint(5, 15)
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, database_url, tree, str(number), str(ACTS)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        for line in child.stdout:
            seq, done = map(int, line.split())
            confirmed[seq] = done
            patience -= 1
            if patience == 0:
                child.kill()  # and what it confirmed before it died is still read
        child.stdout.close()
        killed += child.wait(60) == -signal.SIGKILL

        database = open_database(database_url)
        events = TreeLog(database).history(tree).events
        database.close()
        for seq, done in confirmed.items():
            act = events[seq - 1].act
            assert isinstance(act, Write)
            assert act.text == f"act {done}", f"act {done} was confirmed as {seq}"
        # An act that was on the disk but could not be confirmed any more is there too, and is not told twice.
        for seq, event in enumerate(events[1:], 2):
            assert isinstance(event.act, Write)
            confirmed.setdefault(seq, int(event.act.text.removeprefix("act ")))
    assert killed >= 3
    assert sorted(confirmed.values()) == list(range(ACTS))
    database = open_database(database_url)
    assert examine(database).problems == ()


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
