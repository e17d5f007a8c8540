"""Log tails of an installation: app, worker, command line, jobs; secrets masked."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from entail.data.private import create_private, make_folder, make_private
from entail.data.reading import log_tail, size_of
from entail.masking import mask_secrets
from entail.settings import Settings, is_demo, load_settings

LONGEST = 2**20
"""Bytes after which the app's log is rotated; one older file is kept."""


@dataclass(frozen=True, slots=True)
class Log:
    """Log of an installation; `what` is its writer, and its file may be missing."""

    name: str
    what: str
    file: Path

    @property
    def size(self) -> int:
        """Bytes; 0 without a file."""
        return size_of(self.file)


def logs(settings: Settings | None = None) -> tuple[Log, ...]:
    """Return the logs of an installation, also those without a file; jobs have their own."""
    settings = settings or load_settings()
    folder = settings.data_dir / "log"
    return (
        Log("app", "the app, where entail app started it", folder / "app.log"),
        Log("worker", "the workers of this machine", settings.jobs_dir / "worker.log"),
        Log("cli", "unexpected errors of the command line", folder / "cli.log"),
    )


def tail(name: str, *, lines: int = 100) -> str:
    """Return the last lines of a log by name, or of a job by id, secrets masked.

    Raises:
        UnknownJobError: If no log and no job has this name.
    """
    if named_log := next((log for log in logs() if log.name == name), None):
        return log_tail(named_log.file, lines=lines)
    from entail.jobs.jobs import Jobs

    return mask_secrets(Jobs().log_tail(name, lines=lines))


@contextlib.contextmanager
def app_log(file: Path) -> Iterator[None]:
    """Copy this process's stderr into a file; a file that cannot be opened is skipped.

    Objects that keep `sys.stderr` meanwhile, such as loggers, write to both. A demo writes no file.
    """
    stderr, tee = sys.stderr, None
    with contextlib.suppress(OSError):
        if not is_demo():
            sys.stderr = tee = _Tee(stderr, file)
    try:
        yield
    finally:
        sys.stderr = stderr
        if tee is not None:
            tee.log.close()


class _Tee:
    """Stream that also writes to a file, which is rotated at `LONGEST` bytes.

    No `RotatingFileHandler`: `logging.config` of another library would close it.
    """

    def __init__(self, stream: TextIO, file: Path) -> None:
        make_folder(file.parent)
        for path in file.parent.iterdir():  # of earlier versions, too
            make_private(path)
        self._stream, self._file, self._lock = stream, file, threading.Lock()
        self.log = self._open()

    def _open(self) -> TextIO:
        create_private(self._file)
        return self._file.open("a", encoding="utf-8", errors="backslashreplace")

    def write(self, text: str) -> int:
        # A full disk or a deleted file must not stop the writer.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self.log.write(mask_secrets(text))
            self.log.flush()
            if self.log.tell() > LONGEST:
                self.log.close()
                self._file.replace(self._file.with_name(f"{self._file.name}.before"))
                self.log = self._open()
        return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
