"""`kill -9` at random moments of authoring, backup and restore, on SQLite and PostgreSQL.

Whatever was confirmed is there, the rest is in the old state or the new one, and the doctor finds nothing.
"""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from entail.operations.cleaning import MIN_AGE, clean
from entail.operations.doctor import diagnose
from entail.trees.installation.archive import open_archive
from entail.trees.installation.backup import backup, restore
from entail.trees.log.acts import Create, Edit, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from tests.attack.conftest import FULL, SEED, Tally
from tests.attack.forks import Report, Striker, Work, run
from tests.attack.installation import check_health, empty, fill, read_names

TREES = 3
PER_DATABASE = 60
"""Kills until a database is emptied, since it takes longer and longer to examine."""

Done = dict[str, list[tuple[int, str, str, str]]]
"""Acts of each tree: seq, kind, author, text."""


@pytest.fixture
def url(blank_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the URL of an empty database, which is that of the settings."""
    monkeypatch.setenv("ENTAIL_DATABASE_URL", blank_url)
    open_database(blank_url).close()
    return blank_url


def author(url: str, trees: list[str], name: str) -> Work:
    """Return work without end: write, reword, undo, redo on one tree after another, and create trees."""

    def work(report: Report) -> None:
        log = TreeLog(open_database(url))
        for number in count():
            text, tree = f"{name} {number}", trees[number % len(trees)]
            seq = log.act(tree, Write(node="n1", text=text), author=name, base=1).seq
            report(tree, seq, "write", name, text)
            if number % 3 == 0:
                edit = Edit(node=f"n{seq}", text=f"{text} again")
                report(tree, log.act(tree, edit, author=name, base=seq).seq, "edit", name, edit.text)
                report(tree, log.undo(tree, author=name).seq, "undo", name, "")
                report(tree, log.redo(tree, author=name).seq, "redo", name, "")
            if number % 5 == 0:
                report(log.create(Create(hypothesis=text), author=name), 1, "create", name, text)

    return work


def read_acts(url: str) -> Done:
    with closing(open_database(url)) as database:
        log = TreeLog(database)
        return {
            tree.id: [
                (
                    event.seq,
                    event.act.kind,
                    event.author,
                    getattr(event.act, "text", getattr(event.act, "hypothesis", "")),
                )
                for event in log.history(tree.id).events
            ]
            for tree in log.trees()
        }


def test_authoring(url: str, tally: Tally) -> None:
    striker, attempts, most = Striker(SEED), 0, 700 if FULL else 5
    while striker.kills < most:
        if attempts % PER_DATABASE == 0:
            empty(url)
            with closing(open_database(url)) as database:
                acts = [Create(hypothesis=f"h{number}") for number in range(TREES)]
                trees = TreeLog(database).create_all(acts, author="Ann")
            previous_acts = read_acts(url)
        attempts += 1
        names = [f"{name} {attempts}" for name in ("Ann", "Bob")]
        reports = striker.strike("", *(author(url, trees, name) for name in names), seconds=0.15)
        stored_acts = read_acts(url)
        for tree, seq, *act in (report for part in reports for report in part):
            assert stored_acts[tree][seq - 1] == (seq, *act)
        for tree, events in stored_acts.items():
            assert [seq for seq, *_ in events] == list(range(1, len(events) + 1))
            before = previous_acts.get(tree, [])
            assert events[: len(before)] == before
        # Unconfirmed is at most the last act of a killed author.
        for name, part in zip(names, reports, strict=True):
            new = [event for events in stored_acts.values() for event in events if event[2] == name]
            assert len(new) - len(part) in (0, 1)
        previous_acts = stored_acts
        check_health(url)
    tally(attempts=attempts, failures=0, kills=striker.kills)


def leftovers(folder: Path) -> Iterator[Path]:
    """Yield what a killed backup or restore left, made so old that the doctor reports it."""
    then = time.time() - MIN_AGE - 1
    for path in [
        *folder.glob("models.before-restore-*"),
        *folder.glob(".models-*"),
        *folder.glob(".*.partial"),
    ]:
        os.utime(path, (then, then))
        yield path


def remove_leftovers(folder: Path) -> None:
    """See that the doctor reports what was left, and that its remedy removes that."""
    names = {path.name for path in leftovers(folder)}
    if names:
        assert len(diagnose().problems) == len(names)
        assert clean([f"leftovers/{name}" for name in names]).kept == {}
        assert set(leftovers(folder)) == set()


def test_backup(url: str, tmp_path: Path, tally: Tally) -> None:
    fill(url, "old")
    striker, attempts, most, folder = Striker(SEED), 0, 100 if FULL else 2, tmp_path / "data"
    file, acts, saved = folder / "b.zip", 5, 0
    with closing(open_database(url)) as database:
        tree = TreeLog(database).trees()[0].id

    def save(report: Report) -> None:
        report(backup(file, url=url, overwrite=True).rows["events"])

    while striker.kills < most:
        attempts += 1
        with closing(open_database(url)) as database:
            acts = (
                TreeLog(database)
                .act(tree, Write(node="n1", text=f"try {attempts}"), author="Ann", base=1)
                .seq
                + 8
            )
        (reports,) = striker.strike("backup", save)
        if file.exists():
            with open_archive(file) as archive:
                lines = archive.parts["tables/events.jsonl"].lines
                assert archive.parts.keys() >= {f"models/m{number}/x" for number in range(3)}
        else:
            lines = 0
        assert lines == acts if reports else lines in (saved, acts)
        saved = lines
        remove_leftovers(folder)
        check_health(url)
    assert diagnose().problems == ()
    tally(attempts=attempts, failures=0, kills=striker.kills)


def test_restore(url: str, tmp_path: Path, tally: Tally) -> None:
    folder, files = tmp_path / "data", {}
    for name in ("one", "two"):
        empty(url)
        fill(url, name)
        files[name] = backup(tmp_path / f"{name}.zip", url=url).file
    striker, attempts, most, now = Striker(SEED), 0, 75 if FULL else 2, "two"
    while striker.kills < most:
        attempts += 1
        new = "one" if now == "two" else "two"

        def bring_back(report: Report, file: Path = files[new]) -> None:
            restore(file, url=url, replace=True)
            report("restored")

        (reports,) = striker.strike("restore", bring_back, sign=(folder / "restore.json").exists)
        check_health(url)  # opening it finishes or undoes the restore
        names = read_names(url)
        assert names == {new} if reports else names in ({now}, {new})
        (now,) = names
        assert not (folder / "restore.json").exists()
        remove_leftovers(folder)
        for before in folder.glob("before-restore-*.zip"):
            before.unlink()
    run(lambda report: restore(files["one"], url=url, replace=True) and None)
    assert read_names(url) == {"one"}
    tally(attempts=attempts, failures=0, kills=striker.kills)
