"""File of a backup: named parts in a ZIP, with a manifest of their lengths and digests.

The whole file is verified before a part is read, so a truncated, altered or foreign file is refused before
anything changes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from entail.data.private import create_private, make_folder
from entail.data.reading import open_regular
from entail.data.stored import parse_as
from entail.errors import DataError, FormatError
from entail.version import __version__

FORMAT, FORMAT_VERSION = "entail backup", 1

_MANIFEST = "manifest.json"
_LONGEST_MANIFEST = 64 * 2**20
_LONGEST_LINE = 256 * 2**20
_MAX_RATIO = 300  # of unpacked by packed bytes, of a part and of all
_SURE_BYTES = 64 * 2**20  # unpacked bytes for which no ratio counts
_MAX_PARTS = 100_000
_CHUNK = 2**20
_TABLE = re.compile(r"tables/[a-z_]+\.jsonl")
# What one system takes for a name is a path on another: `a:b` and `a\b` on Windows.
_MODEL = re.compile(r"models(/(?!\.{1,2}(/|$))[^/%s\0]+){1,32}" % ("" if os.name == "posix" else r"\\:"))


@dataclass(frozen=True, slots=True)
class Part:
    """Manifest entry of a part: its bytes, its lines and the SHA-256 of its content."""

    size: int
    lines: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class _Manifest:
    format: str
    format_version: int
    made_by: str = ""
    made_at: str = ""
    revision: str
    parts: Mapping[str, Part]


@dataclass(frozen=True)
class Archive:
    """Verified archive: name of the file, revision of its tables, its parts by name."""

    name: str
    revision: str
    parts: Mapping[str, Part]
    _zip: zipfile.ZipFile

    def content(self, part: str) -> Generator[bytes]:
        """Yield a part's bytes in chunks."""
        return read_chunks(self._zip.open(part))

    def rows(self, part: str) -> Generator[dict[str, Any]]:
        """Yield the rows of a table; raise `FormatError` if a line is not a JSON object."""
        with self._zip.open(part) as stream:
            for number, line in enumerate(iter(partial(stream.readline, _LONGEST_LINE), b""), 1):
                try:
                    yield parse_as(dict[str, Any], line)
                except ValueError as error:
                    raise FormatError(str(error), source=f"{self.name}: {part}", line=number) from error


def read_chunks(stream: IO[bytes]) -> Generator[bytes]:
    """Yield the content of a stream in chunks, then close it."""
    with stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def write_archive(
    file: Path, parts: Iterable[tuple[str, Iterable[bytes]]], *, revision: str, overwrite: bool = False
) -> Mapping[str, Part]:
    """Write parts (name, chunks of its content) into a file, atomically; its folder is created."""
    if file.exists() and not overwrite:
        raise DataError(f"{file} exists; choose another name, or use --overwrite")
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        make_folder(file.parent)
        create_private(partial)
        with partial.open("wb") as raw:
            with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                written = {}
                for name, chunks in parts:
                    with archive.open(name, "w", force_zip64=True) as stream:
                        written[name] = _measure(chunks, stream.write)
                manifest = _Manifest(
                    format=FORMAT,
                    format_version=FORMAT_VERSION,
                    made_at=datetime.now(UTC).isoformat(timespec="seconds"),
                    made_by=f"entail {__version__}",
                    revision=revision,
                    parts=written,
                )
                archive.writestr(_MANIFEST, json.dumps(asdict(manifest), indent=2) + "\n")
            raw.flush()
            os.fsync(raw.fileno())
        partial.replace(file)
    except OSError as error:
        raise DataError(f"the backup cannot be written to {file} ({error}); nothing was backed up") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return written


def _measure(chunks: Iterable[bytes], use: Callable[[bytes], object] = len) -> Part:
    digest, size, lines = sha256(), 0, 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        lines += chunk.count(b"\n")
        use(chunk)
    return Part(size=size, lines=lines, sha256=digest.hexdigest())


@contextmanager
def open_archive(file: Path) -> Iterator[Archive]:
    """Verify and open an archive.

    Raises:
        FormatError: If it is no backup, truncated, altered, of a newer format, or has an unexpected part.
        DataError: If it cannot be read.
    """
    name = file.name
    with contextlib.ExitStack() as open_files:
        try:
            archive = open_files.enter_context(zipfile.ZipFile(open_files.enter_context(open_regular(file))))
            _check_sizes(archive, name)
            manifest = _read_manifest(archive, name)
            for part, expected in manifest.parts.items():
                actual = _measure(read_chunks(archive.open(part)))
                if actual != expected:
                    reason = f"{part} is not what was written (expected {expected}, found {actual})"
                    raise FormatError(f"{reason}; take another backup", source=name)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            reason = f"this is no backup of entail, or it is cut off ({error})"
            raise FormatError(reason, source=name) from error
        except OSError as error:
            raise DataError(f"{file} cannot be read: {error.strerror}") from error
        # Outside the `try`: what goes wrong while it is used is not the file's fault.
        yield Archive(name, manifest.revision, manifest.parts, archive)


def _check_sizes(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse a file that would unpack to far more than a backup, by its directory alone."""
    infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    if len(infos) > _MAX_PARTS:
        raise FormatError(f"expected at most {_MAX_PARTS:,} parts, found {len(infos):,}", source=name)
    ends = [*(info.header_offset for info in infos[1:]), archive.start_dir]
    if any(info.header_offset + info.compress_size >= end for info, end in zip(infos, ends, strict=False)):
        raise FormatError("its parts overlap, which no backup's do", source=name)
    sizes = [(info.file_size, info.compress_size) for info in infos]
    for unpacked, packed in (*sizes, (sum(size for size, _ in sizes), sum(size for _, size in sizes))):
        if unpacked > max(_SURE_BYTES, _MAX_RATIO * packed):
            raise FormatError(
                f"{packed:,} bytes of it unpack to {unpacked:,}, far more than a backup's", source=name
            )


def _read_manifest(archive: zipfile.ZipFile, name: str) -> _Manifest:
    try:
        with archive.open(_MANIFEST) as stream:
            text = stream.read(_LONGEST_MANIFEST)
        head = parse_as(dict[str, Any], text)
        if head.get("format") == FORMAT and head.get("format_version") != FORMAT_VERSION:
            version = f"{head.get('format_version')!r} ({head.get('made_by')})"
            reason = f"expected a backup of format {FORMAT_VERSION}, found {version}; update entail"
            raise FormatError(reason, source=name)
        manifest = parse_as(_Manifest, text)
    except (KeyError, ValueError) as error:
        reason = f"this is no backup of entail: its manifest is missing or broken ({error})"
        raise FormatError(reason, source=name) from error
    expected, names = [_MANIFEST, *manifest.parts], [info.filename for info in archive.infolist()]
    if manifest.format != FORMAT or sorted(names) != sorted(expected):
        odd = sorted(set(names) ^ set(expected)) or "a part twice"
        raise FormatError(f"its manifest does not fit what is in it: {odd}", source=name)
    for part in manifest.parts:
        if not _TABLE.fullmatch(part) and not _MODEL.fullmatch(part):
            raise FormatError(f"a backup has no part called {part!r}; nothing was taken from it", source=name)
    return manifest
