"""One command outside this process: a training that goes on when the page, or the web server, is gone.

Whoever looks at the folder sees how far it is, and how it ended; nothing depends on who started it:

=================  ===================================================================================
`status.json`      what was started, when and by whom; how it ended, once that was seen
`progress.json`    how far it is (`write_progress`), written by the command
`result.json`      what the command printed: one JSON object, ``{"error": ...}`` where it failed
`log.txt`          its other output
`lock`             held by the command as long as it lives
=================  ===================================================================================

The lock is opened here and handed down, so there is no moment in which two could start, a process that is
killed at any moment lets go of it, and while it is held the process group is ours to end.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from entail.data.writing import write_text
from entail.errors import DataError, TrainingError
from entail.progress import Progress
from entail.settings import refuse_in_demo

State = Literal["running", "done", "failed", "cancelled", "killed"]

NICE = 10
"""Added to the niceness of the command: the app comes first."""

PATIENCE = 3.0
"""Seconds that a command is given to end when it is asked to, before it is made to."""

KILLED = (
    "it ended without a word: it was killed from outside, the memory ran out, or the machine was restarted; "
    "start it again"
)
_FULL = "it ended without a word, and the disk is full; make room, then start it again"
_LITTLE_SPACE = 2**20
_ERROR = re.compile(r"^(?:Error|((?:\w+\.)*\w*(?:Error|Exception))): (.+)$")


@dataclass(frozen=True)
class Background:
    """What was started, and what has become of it.

    Attributes:
        id: Another one each time.
        name: What it makes.
        about: What its starter wanted to be remembered, of JSON's types.
        pid: Process and process group; None for a moment at the start.
        started: When, in UTC.
        state: `running`; `done`; `failed`, for a `reason` that it gave; `cancelled` by a person; `killed`,
            which is to say that it is gone and gave no reason.
        reason: Why it came to nothing, in words.
        ended: When, in UTC, None while it runs.
        put_away: Whether somebody has taken note of the end.
        scratch: Folder that is removed at the end.
        progress: How far it is, as far as it told.
        result: What it printed, once it is done.
    """

    id: str
    name: str
    about: Mapping[str, Any]
    started: datetime
    pid: int | None = None
    state: State = "running"
    reason: str | None = None
    ended: datetime | None = None
    put_away: bool = False
    scratch: str | None = None
    progress: Progress | None = None
    result: Mapping[str, Any] | None = None

    @property
    def seconds(self) -> float:
        """Wall time, so far or in all."""
        return ((self.ended or datetime.now(UTC)) - self.started).total_seconds()


def start(
    folder: Path,
    command: Sequence[str],
    *,
    name: str,
    about: Mapping[str, Any] | None = None,
    scratch: Path | None = None,
) -> Background:
    """Start a command in a session of its own, behind everything else that the machine does.

    It has half of the processor's cores, so that the app stays quick, and is told to print one JSON object.

    Args:
        folder: Where its state goes; one command at a time runs in it.
        command: Program and arguments, no shell; ``{progress}`` stands for the file to tell progress in.
        name: What it makes.
        about: What is to be remembered of it, of JSON's types.
        scratch: Folder to be removed when it has ended, however it ended.

    Raises:
        TrainingError: If one is running already, or this one cannot be started.
    """
    refuse_in_demo("a training cannot be started")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _take(folder)
    except OSError as error:
        raise TrainingError(f"nothing can be started, for {folder} cannot be written: {error}") from error
    if lock is None:
        running = look(folder)
        which = f" ({running.name!r}, started {running.started:%H:%M} UTC)" if running else ""
        raise TrainingError(
            f"a training is running already{which}, and there is one at a time; wait for it, or cancel it"
        )
    begun = Background(
        id=secrets.token_hex(8),
        name=name,
        about=dict(about or {}),
        started=datetime.now(UTC),
        scratch=str(scratch) if scratch else None,
    )
    try:
        for file in ("progress.json", "result.json", "log.txt"):
            (folder / file).unlink(missing_ok=True)
        _write(folder, begun)
        process = _spawn(folder, command, lock)
        begun = replace(begun, pid=process.pid)
        _write(folder, begun)
    except (OSError, DataError) as error:
        ended = replace(begun, state="failed", reason=f"it could not be started: {error}")
        with contextlib.suppress(DataError):
            _write(folder, replace(ended, ended=datetime.now(UTC)))
        raise TrainingError(f"the training could not be started: {error}") from error
    finally:
        os.close(lock)
    return begun


def look(folder: Path) -> Background | None:
    """Return what was started last, as it is now; None if nothing ever was."""
    told = _read(folder)
    if told is None:
        return None
    if told.state == "running":
        if _held(folder):
            return replace(told, progress=read_progress(folder / "progress.json"))
        told = _read(folder) or told  # it may have been cancelled, or another one begun, meanwhile
        if told.state == "running" and not _held(folder):
            told = _ended(folder, told)
    return replace(told, result=_result(folder)) if told.state == "done" else told


def cancel(folder: Path, run_id: str) -> None:
    """End what runs, with all its children, if it is still the one that is meant; what it made is removed."""
    refuse_in_demo("a training cannot be cancelled")
    told = look(folder)
    if told is None or told.id != run_id or told.state != "running" or told.pid is None:
        return
    group = told.pid
    told = replace(told, state="cancelled", ended=datetime.now(UTC), progress=None)
    with contextlib.suppress(DataError):  # on a full disk it is ended all the same, and counts as killed
        _write(folder, told)
    for sent in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + PATIENCE
        if _held(folder):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, sent)
        while _held(folder) and time.monotonic() < deadline:
            time.sleep(0.05)
    _clear(told)


def put_away(folder: Path, run_id: str) -> None:
    """Remember that somebody has taken note of the end."""
    refuse_in_demo("what others are to see cannot be put away")
    told = look(folder)
    if told is not None and told.id == run_id and told.state != "running":
        with contextlib.suppress(DataError):
            _write(folder, replace(told, put_away=True))


def write_progress(file: Path, progress: Progress) -> None:
    """Tell how far a command is, whole or not at all; a full disk keeps nobody from going on."""
    with contextlib.suppress(DataError):
        write_text(file, json.dumps(asdict(progress)))


def read_progress(file: Path) -> Progress | None:
    """Return what `write_progress` wrote, None if there is nothing of the kind."""
    told = _json(file)
    try:
        return Progress(**told) if told is not None else None
    except TypeError:
        return None


def _spawn(folder: Path, command: Sequence[str], lock: int) -> subprocess.Popen[bytes]:
    words = [word.replace("{progress}", str(folder / "progress.json")) for word in command]
    threads = str(max(1, (os.cpu_count() or 1) // 2))
    package = str(Path(__file__).parents[2])
    environment = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads),
        # Threads that wait by spinning would take the core that the app was left.
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH")))),
    }
    with (folder / "result.json").open("wb") as out, (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            env=environment,
            start_new_session=True,
            pass_fds=(lock,),
        )
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
    # Somebody has to take note of its end, or it stays as a zombie as long as this process lives.
    threading.Thread(target=process.wait, name=f"wait for {process.pid}", daemon=True).start()
    return process


def _take(folder: Path) -> int | None:
    """Return the lock, None if somebody holds it."""
    deadline = time.monotonic() + 1.0
    while True:
        with _opened(folder) as lock:
            if _lock(lock, shared=False):
                return os.dup(lock)
        # It may be somebody who only looks: they hold it for a moment.
        if time.monotonic() > deadline:
            return None
        time.sleep(0.05)


def _held(folder: Path) -> bool:
    """Say whether a command holds the lock."""
    try:
        with _opened(folder) as lock:
            return not _lock(lock, shared=True)
    except OSError:
        return False


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield lock
    finally:
        os.close(lock)


def _lock(lock: int, *, shared: bool) -> bool:
    # Not filelock, which the project has: its locks cannot be handed down to a child.
    try:
        import fcntl
    except ImportError as error:
        raise TrainingError(
            "trainings beside the app need Linux or macOS (on Windows: WSL); "
            "`entail train aeenc --from-log CORPUS` works everywhere"
        ) from error
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _ended(folder: Path, told: Background) -> Background:
    """Return how it ended, and write that down; everybody who comes here sees the same."""
    result = _result(folder)
    reason = None
    state: State = "done"
    if result is None:
        state, reason = _unfinished(folder)
    elif "error" in result:
        state, reason = "failed", str(dict(result["error"]).get("message") or "it gave no reason")
    ended = replace(told, state=state, reason=reason, ended=_last_sign(folder, told))
    with contextlib.suppress(DataError):  # on a full disk whoever looks next finds it out again
        _write(folder, ended)
    _clear(ended)
    return ended


def _unfinished(folder: Path) -> tuple[State, str]:
    try:
        lines = (folder / "log.txt").read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        lines = []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if found := _ERROR.match(last):
        return "failed", f"{found[1]}: {found[2]}" if found[1] else found[2]
    with contextlib.suppress(OSError):
        if shutil.disk_usage(folder).free < _LITTLE_SPACE:
            return "failed", _FULL
    return "killed", KILLED


def _last_sign(folder: Path, told: Background) -> datetime:
    stamps = [told.started.timestamp()]
    for file in ("progress.json", "result.json", "log.txt"):
        with contextlib.suppress(OSError):
            stamps.append((folder / file).stat().st_mtime)
    return datetime.fromtimestamp(max(stamps), UTC)


def _clear(ended: Background) -> None:
    if ended.scratch:
        shutil.rmtree(ended.scratch, ignore_errors=True)


def _result(folder: Path) -> Mapping[str, Any] | None:
    return _json(folder / "result.json")


def _json(file: Path) -> dict[str, Any] | None:
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None


_FLEETING = ("progress", "result")


def _write(folder: Path, told: Background) -> None:
    plain = {name: value for name, value in asdict(told).items() if name not in _FLEETING}
    times = {name: value.isoformat() for name, value in plain.items() if isinstance(value, datetime)}
    write_text(folder / "status.json", json.dumps(plain | times, indent=2, ensure_ascii=False) + "\n")


def _read(folder: Path) -> Background | None:
    told = _json(folder / "status.json")
    try:
        if told is None:
            return None
        for name in ("started", "ended"):
            told[name] = datetime.fromisoformat(told[name]) if told[name] else None
        return Background(**told)
    except (KeyError, TypeError, ValueError):
        return None  # of another version, or damaged: nothing is known, and the next one writes it anew
