"""Vectors in files that the processes of a server map into memory, so that the machine holds them once.

A file is named after its content: processes that build the same index map the same file.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import weakref
from pathlib import Path
from typing import IO, Any

from entail.settings import load_settings

SMALLEST = 1 << 16
"""Bytes of vectors that get a file."""

_log = logging.getLogger(__name__)
_processes = 1


def share_vectors(processes: int) -> None:
    """Share the vectors that this process builds from now on with others; does nothing on Windows."""
    global _processes
    _processes = processes if hasattr(os, "fork") else 1


def shared_folder() -> Path:
    """Return the folder of the files, which exists while servers of several processes run."""
    return load_settings().data_dir / "shared"


def share(index: Any) -> int:
    """Replace the vectors of a FAISS index by those of the file with the same content, if they are shared.

    Returns:
        Number of processes that hold the vectors together.
    """
    import faiss

    library: Any = faiss
    size, folder = index.codes.size(), shared_folder()
    if _processes == 1 or size < SMALLEST:
        return 1
    try:
        folder.mkdir(parents=True, exist_ok=True)
        prune_shared()
        content = memoryview(library.rev_swig_ptr(index.codes.data(), size))
        file = folder / f"{hashlib.sha256(content).hexdigest()}.faiss"
        if not file.exists():
            _write(file, index)
        stream = _lock(file, "rb")
        mapped = library.read_index(str(file), library.IO_FLAG_MMAP_IFC)
        index.codes = mapped.codes  # which is invalid without the variable
        weakref.finalize(index, stream.close)
        return _processes
    except (OSError, RuntimeError) as error:
        _log.warning("vectors are not shared with other processes, no file in %s: %s", folder, error)
        return 1


def prune_shared() -> None:
    """Remove the files that no process uses."""
    for file in shared_folder().glob("*"):
        import fcntl  # which Windows lacks, where there are no files

        with contextlib.suppress(OSError), file.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.unlink()


def _write(file: Path, index: Any) -> None:
    """Write the vectors of an index as those of a flat one, unless another process does."""
    import faiss

    library: Any = faiss
    size = index.codes.size()
    flat = library.IndexFlatIP(index.d)
    flat.ntotal = size // (4 * index.d)
    flat.codes = library.MaybeOwnedVectorUInt8.create_view(index.codes.data(), size, index.codes.owner)
    partial = file.with_suffix(f".{os.getpid()}")
    with _lock(partial, "wb"):
        library.write_index(flat, str(partial))
        with contextlib.suppress(FileExistsError):
            file.hardlink_to(partial)
        partial.unlink()


def _lock(file: Path, mode: str) -> IO[bytes]:
    """Return a file that `prune_shared` leaves until it is closed or the process ends."""
    import fcntl

    stream: IO[bytes] = file.open(mode)
    fcntl.flock(stream, fcntl.LOCK_SH)
    return stream
