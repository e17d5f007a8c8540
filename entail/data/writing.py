"""Atomic file writing, and differences of settings that a resumed work must not have."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from entail.errors import DataError


@contextlib.contextmanager
def replacing(file: Path, *, sole_writer: bool = False) -> Iterator[Path]:
    """Yield a temporary path that replaces the file atomically; an error or a kill leaves the old file.

    A single writer (`sole_writer`) overwrites the temporary file of a killed one.

    Raises:
        OSError: If the file cannot be replaced.
    """
    unfinished = file.with_name(f".{file.name}.{'partial' if sole_writer else secrets.token_hex(4)}")
    try:
        yield unfinished
        unfinished.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise


def write_text(file: str | os.PathLike[str], text: str) -> None:
    """Write a file as UTF-8, see `write_bytes`; gzipped if it is called so. Same text, same bytes."""
    path = Path(file)
    data = text.encode()
    write_bytes(path, gzip.compress(data, mtime=0) if path.suffix.lower() == ".gz" else data)


def write_bytes(file: Path, content: bytes) -> None:
    """Write a file atomically.

    Raises:
        DataError: If the file cannot be written; the old file stays.
    """
    try:
        with replacing(file) as unfinished:
            unfinished.write_bytes(content)
    except OSError as error:
        raise _not_writable(file, error) from error


def check_writable(file: Path) -> None:
    """Raise `DataError`, before the work for a file begins, if it cannot be written."""
    try:
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        tempfile.TemporaryFile(dir=file.parent).close()
    except OSError as error:
        raise _not_writable(file, error) from error


def _not_writable(file: Path, error: OSError) -> DataError:
    reason = error.strerror if file.parent.is_dir() else f"no folder {file.parent}; make it first"
    return DataError(f"{file}: expected to write a file here, found: {reason}")


def differences(expected: Mapping[str, str], actual: Mapping[str, str]) -> str:
    """Return the differences of two fingerprints as text, empty if there are none.

    >>> differences({"seed": "0", "base": "minilm"}, {"seed": "1", "base": "minilm"})
    "seed: expected '0', found '1'"
    """
    return "; ".join(
        f"{name}: expected {expected.get(name)!r}, found {actual.get(name)!r}"
        for name in sorted({*expected, *actual})
        if expected.get(name) != actual.get(name)
    )
