"""A disk that becomes full within any change: an error that says so, nothing lost, all well afterwards."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache, partial
from pathlib import Path

import pytest

from entail.errors import EntailError
from entail.jobs.jobs import Jobs
from entail.jobs.record import RESUMABLE, Job
from entail.jobs.worker import run_job
from entail.trees.installation.archive import open_archive
from entail.trees.installation.backup import backup, restore
from entail.trees.log.acts import Create, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from tests.attack.conftest import FULL, Tally
from tests.attack.forks import Fork, Report, Work, run
from tests.attack.installation import check_health, empty, fill, read_names
from tests.jobs.conftest import fork_child

PAGE = 4096
ROOM = [*range(30), *range(30, 400, 15)] if FULL else [0, 10, 60]
"""Free pages with which each change is tried."""

PLAIN = ("is full", "No space left", "has room", "make room")
"""Words of an error by which a person knows what to do."""


@pytest.fixture
def disk() -> Iterator[Path]:
    """A small file system."""
    folder = Path(tempfile.mkdtemp(prefix="entail-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={128 if FULL else 32}m,mode=755", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("a small file system cannot be mounted here, which needs root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()


def set_room(disk: Path, pages: int | None) -> None:
    """Leave so many pages free, or all."""
    ballast = disk / "ballast"
    ballast.unlink(missing_ok=True)
    if pages is not None:
        free = os.statvfs(disk)
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail * free.f_frsize - pages * PAGE))


@pytest.fixture
def url(disk: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the URL of a database on the disk, as the data folder is."""
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(disk / "data"))
    monkeypatch.setenv("ENTAIL_WORKER", "none")
    (disk / "data").mkdir()
    url = f"sqlite:///{disk / 'data' / 'x.db'}"
    monkeypatch.setenv("ENTAIL_DATABASE_URL", url)
    open_database(url).close()
    return url


def attempt(report: Report, do: Callable[[], object]) -> None:
    """Do something, and report what came of it: "done", or what the error of the library says."""
    try:
        do()
    except EntailError as error:
        report(str(error))
    else:
        report("done")


def count_done(disk: Path, pages: int | None, work: Work) -> tuple[int, int]:
    """Do a work with so much room; return how often it was done, and how often refused for want of room."""
    set_room(disk, pages)
    (reports,) = run(work)
    set_room(disk, None)
    outcomes = [words for (words,) in reports]
    refused = [words for words in outcomes if words != "done"]
    for words in refused:
        assert any(sign in words for sign in PLAIN), words
    return len(outcomes) - len(refused), len(refused)


def exhaust(disk: Path, change: Work, check: Callable[[int], object], tally: Tally) -> None:
    """Try a change with each room and then without a limit; `check` is told how often it was done in all."""
    attempts = refusals = 0
    for pages in ROOM:
        done, refused = count_done(disk, pages, change)
        check(done)
        again, none = count_done(disk, None, change)
        assert none == 0, "there is room again"
        check(again)
        check_health()
        attempts, refusals = attempts + done + refused, refusals + refused
    assert refusals
    tally(attempts=attempts, failures=0)


def test_acts(disk: Path, url: str, tally: Tally) -> None:
    with closing(open_database(url)) as database:
        tree = TreeLog(database).create(Create(hypothesis="h"), author="Ann")
    acts = 0

    def write(report: Report) -> None:
        log = cache(lambda: TreeLog(open_database(url)))

        def act(number: int) -> None:
            log().act(tree, Write(node="n1", text=f"{number} {'long' * 400}"), author="Ann", base=1)

        for number in range(acts, acts + 12):
            attempt(report, partial(act, number))

    def check(done: int) -> None:
        nonlocal acts, tree
        with closing(open_database(url)) as database:
            log = TreeLog(database)
            numbers = [
                int(event.act.text.split()[0])
                for event in log.history(tree).events
                if isinstance(event.act, Write)
            ]
            assert len(numbers) == done
            assert numbers == sorted(set(numbers))
            acts, tree = acts + 12, log.create(Create(hypothesis="h"), author="Ann")

    exhaust(disk, write, check, tally)


def test_backup(disk: Path, url: str, tally: Tally) -> None:
    fill(url, "one")
    file = disk / "data" / "b.zip"

    def save(report: Report) -> None:
        attempt(report, lambda: backup(file, url=url, overwrite=True))

    def check(done: int) -> None:
        assert file.exists() >= done
        if file.exists():
            with open_archive(file) as archive:
                assert len(archive.parts) > 3
        assert {path.name for path in file.parent.glob("*b.zip*")} <= {file.name}

    exhaust(disk, save, check, tally)


def test_restore(disk: Path, url: str, tmp_path: Path, tally: Tally) -> None:
    for name in ("one", "two"):
        empty(url)
        fill(url, name)
        backup(tmp_path / f"{name}.zip", url=url)
    new = "one"

    def bring_back(report: Report) -> None:
        attempt(report, lambda: restore(tmp_path / f"{new}.zip", url=url, replace=True))

    def check(done: int) -> None:
        nonlocal new
        (now,) = read_names(url)
        assert (now == new) == bool(done)
        new = "one" if now == "two" else "two"
        for before in (disk / "data").glob("before-restore-*.zip"):
            before.unlink()

    exhaust(disk, bring_back, check, tally)


def test_trainings(disk: Path, url: str, package: Path, tally: Tally) -> None:
    """A training that finds the disk full has failed or is interrupted, and ends when it is resumed."""
    for pages in ROOM[:30]:
        job = Jobs().submit("fifth", {"steps": 3}, {}, name=f"m{pages}", by="Ann")

        def work(report: Report, job: Job = job) -> None:
            run_job(Jobs().handle(job.id), stopping=lambda: False, spawn=fork_child)

        set_room(disk, pages)
        Fork(work).join()
        set_room(disk, None)
        jobs = Jobs()
        if jobs.job(job.id).state in RESUMABLE:
            jobs.resume(job.id)
        if jobs.job(job.id).state == "queued":
            run(work)
        assert jobs.job(job.id).state == "done", jobs.log_tail(job.id)
        tally(attempts=1, failures=0)
