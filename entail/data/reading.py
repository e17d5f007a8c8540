"""Files and uploads: text and JSON with gzip, UTF-16, size limits, line numbers in errors; ends of logs."""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import io
import json
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from entail.data.spreadsheets import sheet_to_csv
from entail.errors import FormatError, SettingsError
from entail.masking import mask_secrets
from entail.progress import Meter, ProgressCallback
from entail.settings import MAX_UPLOAD_MB

T = TypeVar("T")

Source = bytes | str | os.PathLike[str]
"""A path, or the bytes of an upload."""

MAX_BYTES = MAX_UPLOAD_MB * 1_000_000  # as browsers count
"""Size limit of one file, packed or unpacked."""

MAX_RATIO = 200
"""Limit of unpacked by packed bytes of a gzip or Excel file; texts are packed to a fifth or a tenth."""

_SURE_BYTES = 2**24
"""Unpacked bytes that any file may have."""

_BLOCK = 2**20
"""Bytes that are decoded at once."""

_HEAD = 8192
"""Bytes at the start of a file by which a binary one is told."""

GZIP = b"\x1f\x8b"
DAMAGED = (EOFError, OSError, zlib.error)
"""Errors of reading a damaged or cut archive."""

_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ZIP = b"PK\x03\x04"
_FOREIGN = (
    (b"%PDF", "a PDF; save its text as a .txt file, one premise a line"),
    (b"SQLite format 3\0", "an SQLite database; export the texts as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old or locked Word or Excel file; save the sheet as .xlsx or CSV"),
    (b"{\\rtf", "a Rich Text file; save it as a .txt file, one premise a line"),
    (b"<?xml", "XML; save its texts as a .txt file, one premise a line"),
)


def source_name(source: Source, name: str | None = None) -> str:
    """Return the name of a source for messages: the given name, else the path, else `upload`."""
    return name or ("upload" if isinstance(source, bytes) else os.fspath(source))


@contextlib.contextmanager
def open_binary(source: Source, *, name: str | None = None) -> Iterator[BinaryIO]:
    """Open a regular file or an upload, unpacked if it is gzipped.

    Reading a damaged one raises one of `DAMAGED`, and one that unpacks to `MAX_RATIO` times its size a
    `FormatError`.

    Raises:
        FormatError: If it cannot be opened, or is a pipe, a device or a folder.
    """
    file_name = source_name(source, name)
    with contextlib.ExitStack() as stack:
        try:
            raw = io.BytesIO(source) if isinstance(source, bytes) else open_regular(source)
            stream = stack.enter_context(io.BufferedReader(cast("io.RawIOBase", raw)))
            packed = stream.peek(2).startswith(GZIP)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            reason = getattr(error, "strerror", None) or str(error)
            raise FormatError(
                f"expected a file that can be read, found: {reason}", source=file_name
            ) from error
        yield cast("BinaryIO", io.BufferedReader(_Unpacked(stream, file_name)) if packed else stream)


def open_regular(path: str | os.PathLike[str]) -> io.FileIO:
    """Open a regular file for reading; `OSError` if it is a folder, a pipe or a device."""
    return io.FileIO(os.fspath(path), opener=_open_descriptor)


def _open_descriptor(path: str, flags: int) -> int:
    # Without O_NONBLOCK, opening a pipe without a writer would wait for ever.
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "a folder, a pipe or a device")
    return descriptor


def size_of(*paths: Path) -> int:
    """Return the bytes of files and folders; links are not followed, and what is gone counts for nothing."""
    size = 0
    for path in paths:
        with contextlib.suppress(OSError):
            is_folder = path.is_dir() and not path.is_symlink()
            size += size_of(*path.iterdir()) if is_folder else path.lstat().st_size
    return size


def log_tail(file: Path, *, lines: int, secrets: Iterable[str] = ()) -> str:
    """Return the last lines of a log, of its last 64 KiB, secrets masked; empty without a file."""
    try:
        with open_regular(file) as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 2**16))
            content = log.read()
    except OSError:
        return ""
    text = mask_secrets(content.decode(errors="replace"), secrets=secrets)
    return "\n".join(text.splitlines()[-lines:])


class _Unpacked(io.RawIOBase):
    """Content of a gzip file, which stops at one that unpacks to far more than any text does."""

    def __init__(self, packed: io.BufferedReader[Any], shown: str) -> None:
        self.packed, self._shown, self._size = packed, shown, 0
        self._stream = gzip.GzipFile(fileobj=packed)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack the next bytes into a buffer."""
        block = self._stream.read1(len(buffer))
        self._size += len(block)
        if self._size > max(_SURE_BYTES, MAX_RATIO * self.packed.tell()):
            raise FormatError(
                f"expected a file that unpacks to at most {MAX_RATIO} times its size, found one to more",
                source=self._shown,
            )
        buffer[: len(block)] = block
        return len(block)


def read_text(
    source: Source,
    *,
    name: str | None = None,
    encoding: str | None = None,
    max_bytes: int = MAX_BYTES,
    remedy: str = "",
) -> str:
    r"""Return a file's text, unpacked and decoded, with ``\n`` at the end of every line.

    Gzip is detected by its first bytes, and so is an Excel file (.xlsx), whose sheet is returned as CSV.
    UTF-8 and, by their byte order mark, UTF-16 and UTF-32 are read; anything else needs `encoding`, and
    `remedy` ends the error that says so.

    >>> read_text("caf\u00e9".encode("utf-16"))
    'café'

    Raises:
        FormatError: If the file cannot be opened, is larger than `max_bytes` (packed or unpacked), is
            damaged, binary, in another encoding, or has a NUL character.
        SettingsError: If there is no such `encoding`.
    """
    options: dict[str, Any] = {"encoding": encoding, "max_bytes": max_bytes, "remedy": remedy}
    return "".join(text_blocks(source, name=name, **options))


def text_blocks(
    source: Source,
    *,
    name: str | None = None,
    encoding: str | None = None,
    max_bytes: int = MAX_BYTES,
    remedy: str = "",
    progress: ProgressCallback | None = None,
) -> Iterator[str]:
    """Yield the text of `read_text` in blocks, so that a file of any size takes little memory."""
    file_name = source_name(source, name)
    size = lines = 0
    head: bytes | None = None
    with open_binary(source, name=name) as stream:
        packed = getattr(getattr(stream, "raw", None), "packed", stream)
        meter = Meter(_size_of(source), "reading", unit="bytes", report=progress)
        while True:
            before = packed.tell()
            try:
                data = stream.read(min(_BLOCK, max_bytes + 1 - size))
            except DAMAGED as error:
                message = f"expected a whole gzip file, found a damaged one ({error})"
                raise FormatError(message, source=file_name) from error
            meter.add(packed.tell() - before)
            size += len(data)
            if size > max_bytes:
                raise FormatError(
                    f"expected at most {max_bytes:,} bytes once unpacked, found more; split the file",
                    source=file_name,
                )
            if head is None:
                head = data
                if data.startswith(_ZIP):
                    data += stream.read(max_bytes + 1 - size)
                    largest = min(max_bytes, max(_SURE_BYTES, MAX_RATIO * len(data)))
                    yield sheet_to_csv(data, file_name, max_bytes=largest)
                    return
                decoder = _decoder(data, encoding, file_name)
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeError as error:
                raise _undecodable(error, lines, encoding, head, file_name, remedy) from error
            if (nul := text.find("\0")) >= 0:
                raise FormatError(
                    "expected text, found a NUL character: binary or damaged; save the file again as UTF-8 "
                    "text",
                    source=file_name,
                    line=lines + text.count("\n", 0, nul) + 1,
                )
            lines += text.count("\n")
            yield text if head is not data else text.removeprefix("\ufeff")
            if not data:
                return


def read_content(content: bytes, name: str, read: Callable[[Path], T]) -> T:
    """Read uploaded content through a temporary file with the extension `.gz` or `.zip` of its name."""
    suffix = Path(name.lower()).suffix
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"upload{suffix if suffix in {'.gz', '.zip'} else ''}"
        path.write_bytes(content)
        try:
            return read(path)
        except FormatError as error:
            raise FormatError(str(error).replace(str(path), name)) from error


def whole_lines(blocks: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a text in blocks, each with its end."""
    rest = ""
    for block in blocks:
        *lines, rest = (rest + block).split("\n") if "\n" in block else (rest + block,)
        yield from (f"{line}\n" for line in lines)
    if rest:
        yield rest


def text_lines(text: str | Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of the lines that are not blank, of a text or of lines with their ends."""
    # str.splitlines would also cut at U+2028, which JSON allows inside a string.
    lines = text.split("\n") if isinstance(text, str) else (line.removesuffix("\n") for line in text)
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def parse_jsonl(
    text: str | Iterable[str], *, source: str | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of every line that is not blank; see `parse_object`."""
    return ((number, parse_object(line, source=source, line=number)) for number, line in text_lines(text))


def parse_object(text: str, *, source: str | None, line: int) -> dict[str, Any]:
    """Return the JSON object of a line; raise `FormatError` if it is not one."""
    row = parse_json(text, source=source, line=line)
    if not isinstance(row, dict):
        raise FormatError(f"expected one JSON object, found {shorten(text)}", source=source, line=line)
    return row


def parse_json(text: str, *, source: str | None = None, line: int | None = None) -> Any:
    """Return the value of a JSON text, a file or a line of it, without NUL and half surrogate pairs.

    Raises:
        FormatError: With the line and column of the mistake.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        around = text[max(0, error.pos - 20) : error.pos + 20]
        snippet = shorten(repr(around)) if text[error.pos :].strip() else "an early end"
        raise FormatError(
            f"expected {'one JSON object' if line else 'JSON'}, found {snippet} "
            f"({error.msg}, column {error.colno})",
            source=source,
            line=line or error.lineno,
        ) from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else f"out of range ({error})"
        raise FormatError(f"expected JSON, found a value {reason}", source=source, line=line) from error
    if "\\ud" in text or "\\uD" in text or "\\u0000" in text:
        flat = json.dumps(value, ensure_ascii=False)
        if any("\ud800" <= character <= "\udfff" for character in flat):
            raise FormatError("expected text, found half of a surrogate pair", source=source, line=line)
        if "\\u0000" in flat.replace("\\\\", ""):
            raise FormatError("expected text, found a NUL character (\\u0000)", source=source, line=line)
    return value


def shorten(text: str, width: int = 80) -> str:
    """Return a text short enough for a message.

    >>> shorten("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _decoder(data: bytes, encoding: str | None, file_name: str) -> io.IncrementalNewlineDecoder:
    """Return the decoder of a file that begins so, which also makes ends of lines one character."""
    for magic, kind in _FOREIGN:
        if data.startswith(magic):
            raise FormatError(f"expected a text file, found {kind}", source=file_name)
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # refuses codecs that are of no text
        decoder = codecs.getincrementaldecoder(encoding or _guess(data))()
    except LookupError as error:
        message = f"expected the name of a text encoding such as cp1252, found {encoding!r}"
        raise SettingsError(message) from error
    return io.IncrementalNewlineDecoder(decoder, translate=True)


def _guess(data: bytes) -> str:
    return next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")


def _undecodable(
    error: UnicodeError, line: int, encoding: str | None, head: bytes, file_name: str, remedy: str
) -> FormatError:
    """Return the error of bytes that cannot be decoded, in a block that begins after a number of lines."""
    data, start = getattr(error, "object", b""), getattr(error, "start", 0)
    cause = f"byte 0x{data[start]:02X}" if start < len(data) else "an early end"
    guess = encoding or _guess(head)
    if encoding or guess != "utf-8":
        message = f"expected {guess}, found {cause}, which is none; save the file again as UTF-8{remedy}"
    elif b"\0" in head[:_HEAD]:
        message = "expected a text file, found a binary one; export its texts as CSV or one a line"
    else:
        message = (
            f"expected text in UTF-8, found {cause}: a binary file, or text in another encoding such as "
            "Windows-1252 or Shift-JIS; save it again as UTF-8 (iconv -f ENCODING -t UTF-8 OLD > NEW)"
            f"{remedy}"
        )
    return FormatError(message, source=file_name, line=line + data.count(b"\n", 0, start) + 1)


def _size_of(source: Source) -> int:
    return len(source) if isinstance(source, bytes) else Path(source).stat().st_size
