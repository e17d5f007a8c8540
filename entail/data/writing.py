"""A file, the whole of it or nothing; text gzipped where the name ends in `.gz`."""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from entail.errors import DataError


@contextlib.contextmanager
def replacing(file: Path, *, alone: bool = False) -> Iterator[Path]:
    """Give a path to write to, which becomes the file in one move; after an error what was there still is.

    A process that is killed leaves the old file or the new one, never half of it.

    Args:
        file: What is to be written; its folder is there.
        alone: Nobody else writes this file: what a killed process left half written is written over, where
            otherwise it would stay.

    Raises:
        OSError: If the file cannot be put in its place.
    """
    unfinished = file.with_name(f".{file.name}.{'partial' if alone else secrets.token_hex(4)}")
    try:
        yield unfinished
        unfinished.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise


def write_text(file: str | os.PathLike[str], text: str) -> None:
    """Write a file as UTF-8; one that is there is replaced in one move. The same text gives the same bytes.

    Raises:
        DataError: If the file cannot be written; what was there is left as it was.
    """
    path = Path(file)
    data = text.encode()
    write_bytes(path, gzip.compress(data, mtime=0) if path.suffix.lower() == ".gz" else data)


def write_bytes(file: Path, content: bytes) -> None:
    """Write a file; one that is there is replaced in one move.

    Raises:
        DataError: If the file cannot be written; what was there is left as it was.
    """
    try:
        with replacing(file) as unfinished:
            unfinished.write_bytes(content)
    except OSError as error:
        found = error.strerror if file.parent.is_dir() else f"no folder {file.parent}; make it first"
        raise DataError(f"{file}: expected to write a file here, found: {found}") from error
