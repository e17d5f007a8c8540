"""A command beside the app: every way it can end, and that two never run."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from entail.errors import TrainingError
from entail.progress import Progress
from entail.training import background
from entail.training.background import (
    KILLED,
    Background,
    cancel,
    look,
    put_away,
    read_progress,
    start,
    write_progress,
)

Wait = Callable[[], Background]
FOREVER = (sys.executable, "-c", "import time; time.sleep(600)")


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "learning"
    yield place
    run = look(place)
    if run is not None and run.state == "running":
        cancel(place, run.id)


@pytest.fixture
def wait(folder: Path) -> Wait:
    """Return what waits until nothing runs any more, and gives the end."""

    def ended() -> Background:
        for _ in range(1200):
            run = look(folder)
            assert run is not None
            if run.state != "running":
                return run
            time.sleep(0.05)
        raise AssertionError("it never ended")

    return ended


def pid_of(run: Background | None) -> int:
    assert run is not None
    assert run.pid is not None
    return run.pid


def test_nothing_was_ever_started(folder: Path) -> None:
    assert look(folder) is None


def test_done_with_what_it_printed(folder: Path, wait: Wait) -> None:
    begun = start(
        folder, python("import json; print(json.dumps({'counts': 3}))"), name="x", about={"author": "Ada"}
    )
    run = wait()
    assert (run.id, run.state, run.reason, run.result) == (begun.id, "done", None, {"counts": 3})
    assert run.about == {"author": "Ada"}
    assert run.ended is not None
    assert run.seconds >= 0
    told = json.loads((folder / "status.json").read_text(encoding="utf-8"))
    assert told["state"] == "done"


def test_what_failed_gives_its_reason_in_words(folder: Path, wait: Wait) -> None:
    error = {"error": {"type": "TrainingError", "message": "expected hard negatives, found none"}}
    start(folder, python(f"import sys; print({json.dumps(json.dumps(error))}); sys.exit(1)"), name="x")
    run = wait()
    assert (run.state, run.reason, run.result) == ("failed", "expected hard negatives, found none", None)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise MemoryError('no room for 3 GB')", "MemoryError: no room for 3 GB"),
        ("import sys; sys.stderr.write('Error: no space left on device\\n')", "no space left on device"),
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
    ],
)
def test_the_last_line_of_its_log_is_a_reason_and_the_trace_is_not(
    folder: Path, wait: Wait, code: str, reason: str
) -> None:
    start(folder, python(code), name="x")
    run = wait()
    assert (run.state, run.reason) == ("failed", reason)


def test_killed_ends_in_a_state_that_says_so(folder: Path, wait: Wait) -> None:
    os.kill(pid_of(start(folder, FOREVER, name="x")), signal.SIGKILL)
    run = wait()
    assert (run.state, run.reason) == ("killed", KILLED)
    assert start(folder, python("print('{}')"), name="y").name == "y"
    assert wait().state == "done"


def test_silent_on_a_full_disk(folder: Path, wait: Wait, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_LITTLE_SPACE", 1 << 62)
    start(folder, python("pass"), name="x")
    run = wait()
    assert run.state == "failed"
    assert "disk is full" in str(run.reason)


def test_one_at_a_time_and_the_second_is_told(folder: Path) -> None:
    first = start(folder, FOREVER, name="team-sky-1")
    with pytest.raises(TrainingError, match=r"running already \('team-sky-1', started .*one at a time"):
        start(folder, FOREVER, name="team-sky-2")
    run = look(folder)
    assert run is not None
    assert (run.id, run.state) == (first.id, "running")


def test_of_many_that_click_at_once_one_starts(folder: Path) -> None:
    begun: list[str] = []
    refused: list[str] = []
    gate = threading.Barrier(4)

    def click(name: str) -> None:
        gate.wait()
        try:
            begun.append(start(folder, FOREVER, name=name).name)
        except TrainingError as error:
            refused.append(str(error))

    clicks = [threading.Thread(target=click, args=(f"team-{i}",)) for i in range(4)]
    for one in clicks:
        one.start()
    for one in clicks:
        one.join()
    assert len(begun) == 1
    assert len(refused) == 3
    run = look(folder)
    assert run is not None
    assert run.name == begun[0]


def test_cancelled_with_its_children_and_nothing_is_left(folder: Path, tmp_path: Path, wait: Wait) -> None:
    scratch = tmp_path / "x.training"
    scratch.mkdir()
    (scratch / "checkpoint").write_text("half", encoding="utf-8")
    child = tmp_path / "child"
    code = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(child)!r}, 'w').write(str(p.pid)); time.sleep(600)"
    )
    run = start(folder, python(code), name="x", scratch=scratch)
    while not child.exists() or not child.read_text(encoding="utf-8"):
        time.sleep(0.02)
    cancel(folder, "another id")
    found = look(folder)
    assert found is not None
    assert found.state == "running"
    cancel(folder, run.id)
    assert wait().state == "cancelled"
    assert not scratch.exists()
    for pid in (pid_of(run), int(child.read_text(encoding="utf-8"))):
        for _ in range(100):
            if not alive(pid):
                break
            time.sleep(0.05)
        assert not alive(pid)


def alive(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.strip().startswith("Z")


def test_it_lives_in_a_session_of_its_own_behind_the_app(folder: Path) -> None:
    run = start(folder, FOREVER, name="x")
    pid = pid_of(run)
    assert os.getsid(pid) == pid != os.getsid(0)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(19, own + background.NICE)


def test_it_goes_on_when_its_starter_is_killed(folder: Path, wait: Wait) -> None:
    code = f"""
import os, signal, sys
from pathlib import Path
from entail.training.background import start
start(Path({str(folder)!r}), [sys.executable, "-c", "import time; time.sleep(1); print('{{}}')"], name="x")
os.kill(os.getpid(), signal.SIGKILL)
"""
    starter = subprocess.run(python(code), check=False)
    assert starter.returncode == -signal.SIGKILL
    run = look(folder)
    assert run is not None
    assert run.state == "running"
    assert wait().state == "done"


def test_it_is_left_half_of_the_cores(folder: Path, wait: Wait, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    code = f"import json, os; print(json.dumps({{name: os.environ[name] for name in {names}}}))"
    start(folder, python(code), name="x")
    assert wait().result == {"OMP_NUM_THREADS": "4", "MKL_NUM_THREADS": "4"}


def test_progress_is_seen_while_it_runs_and_gone_after(folder: Path, wait: Wait) -> None:
    code = """
import sys, time
from pathlib import Path
from entail.progress import Progress
from entail.training.background import write_progress
write_progress(Path(sys.argv[1]), Progress(2, 8, 1.0, "training", "steps"))
while not Path(sys.argv[1]).with_name("go").exists():
    time.sleep(0.02)
print("{}")
"""
    start(folder, [*python(code), "{progress}"], name="x")
    for _ in range(600):
        run = look(folder)
        assert run is not None
        if run.progress:
            break
        time.sleep(0.05)
    assert run.progress == Progress(2, 8, 1.0, "training", "steps")
    (folder / "go").touch()
    assert wait().progress is None


def test_a_program_that_is_not_there(folder: Path) -> None:
    with pytest.raises(TrainingError, match="could not be started"):
        start(folder, ["/no/such/program"], name="x")
    run = look(folder)
    assert run is not None
    assert (run.state, "could not be started" in str(run.reason)) == ("failed", True)


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TrainingError, match="cannot be written"):
        start(tmp_path / "file" / "learning", FOREVER, name="x")


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"id": 1, "started": "yesterday"}'])
def test_a_damaged_status_is_nothing_known(folder: Path, damage: str) -> None:
    folder.mkdir()
    (folder / "status.json").write_text(damage, encoding="utf-8")
    assert look(folder) is None


@pytest.mark.parametrize("damage", ["", "7", '{"done": 1}', '{"done": 1, "surprise": 2}'])
def test_damaged_progress_is_none(tmp_path: Path, damage: str) -> None:
    (tmp_path / "p.json").write_text(damage, encoding="utf-8")
    assert read_progress(tmp_path / "p.json") is None


def test_progress_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    write_progress(tmp_path / "no" / "folder" / "p.json", Progress(1, 2, 3.0, "training"))
    assert not list(tmp_path.iterdir())


def test_put_away_by_its_id_once_it_has_ended(folder: Path, wait: Wait) -> None:
    run = start(folder, python("print('{}')"), name="x")
    assert not wait().put_away
    put_away(folder, "another")
    assert not wait().put_away
    put_away(folder, run.id)
    assert wait().put_away


def test_whoever_looks_keeps_nobody_from_starting(folder: Path, wait: Wait) -> None:
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            look(folder)

    def runs(commands: Sequence[list[str]]) -> Iterator[str]:
        for command in commands:
            start(folder, command, name="x")
            yield wait().state

    watchers = [threading.Thread(target=watch) for _ in range(2)]
    for watcher in watchers:
        watcher.start()
    try:
        assert set(runs([python("print('{}')")] * 3)) == {"done"}
    finally:
        stop.set()
        for watcher in watchers:
            watcher.join()
