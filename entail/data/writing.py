"""Text into a file: the whole of it or nothing, gzipped where the name ends in `.gz`."""

from __future__ import annotations

import gzip
import os
import secrets
from pathlib import Path

from entail.errors import DataError


def write_text(file: str | os.PathLike[str], text: str) -> None:
    """Write a file as UTF-8; one that is there is replaced in one move. The same text gives the same bytes.

    Raises:
        DataError: If the file cannot be written; what was there is left as it was.
    """
    path = Path(file)
    data = text.encode()
    if path.suffix.lower() == ".gz":
        data = gzip.compress(data, mtime=0)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        found = error.strerror if path.parent.is_dir() else f"no folder {path.parent}; make it first"
        raise DataError(f"{path}: expected to write a file here, found: {found}") from error
