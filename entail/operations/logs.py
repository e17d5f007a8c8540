"""The ends of the logs of an installation: app, worker, command line, jobs; without secrets."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from entail.operations.masking import masked
from entail.settings import Settings, is_demo, load_settings

LONGEST = 2**20
"""Bytes after which the app's log begins anew; the one before is kept beside it."""

_TAIL = 2**16


@dataclass(frozen=True, slots=True)
class Log:
    """A log there may be.

    Attributes:
        name: `app`, `worker`, `cli`.
        what: Who writes it.
        file: Where.
    """

    name: str
    what: str
    file: Path

    @property
    def size(self) -> int:
        """Its bytes; 0 where there is none."""
        try:
            return self.file.stat().st_size
        except OSError:
            return 0

    def tail(self, *, lines: int = 100, secrets: Iterable[str] = ()) -> str:
        """Return its last lines, of its last 64 KiB, without secrets; nothing where there is none."""
        try:
            with self.file.open("rb") as stream:
                stream.seek(max(0, self.size - _TAIL))
                content = stream.read()
        except OSError:
            return ""
        return masked("\n".join(content.decode(errors="replace").splitlines()[-lines:]), secrets=secrets)


def logs(settings: Settings | None = None) -> tuple[Log, ...]:
    """Return the logs that an installation writes, those that are not there yet, too; jobs have their own."""
    settings = settings or load_settings()
    folder = settings.data_dir / "log"
    return (
        Log("app", "the app, where entail app started it", folder / "app.log"),
        Log("worker", "the workers of this machine", settings.jobs_dir / "worker.log"),
        Log("cli", "errors of the command line that nobody expected", folder / "cli.log"),
    )


def tail(name: str, *, lines: int = 100, secrets: Iterable[str] = ()) -> str:
    """Return the last lines of a log by name, or of a job's by its id, without secrets.

    Raises:
        UnknownJobError: If there is no such log and no such job.
    """
    for log in logs():
        if log.name == name:
            return log.tail(lines=lines, secrets=secrets)
    from entail.jobs.jobs import Jobs

    return masked(Jobs().log_tail(name, lines=lines), secrets=secrets)


@contextlib.contextmanager
def app_log(file: Path) -> Iterator[None]:
    """Write what this process says on stderr into a file, too; where that cannot be, it is only said.

    Whoever takes hold of `sys.stderr` meanwhile, as loggers do, writes into both. In a demo nothing is kept.
    """
    said = sys.stderr
    try:
        kept = None if is_demo() else _Kept(file)
    except OSError:
        kept = None
    if kept is None:
        yield
        return
    sys.stderr = _Both(said, kept)
    try:
        yield
    finally:
        sys.stderr = said
        kept.close()


class _Kept:
    """A file that begins anew when it is long; its writers take turns."""

    def __init__(self, file: Path) -> None:
        self._file, self._lock = file, threading.Lock()
        file.parent.mkdir(parents=True, exist_ok=True)
        self._stream = self._open()

    def write(self, text: str) -> None:
        # A full disk, or a file that is gone, must not end who says something.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
            if self._stream.tell() > LONGEST:
                self._stream.close()
                self._file.replace(self._file.with_name(f"{self._file.name}.before"))
                self._stream = self._open()

    def close(self) -> None:
        with self._lock:
            self._stream.close()

    def _open(self) -> TextIO:
        return self._file.open("a", encoding="utf-8", errors="backslashreplace")


class _Both:
    def __init__(self, said: TextIO, kept: _Kept) -> None:
        self._said, self._kept = said, kept

    def write(self, text: str) -> int:
        self._kept.write(text)
        return self._said.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._said, name)
