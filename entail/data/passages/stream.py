"""Streaming readers of large files: lines, JSONL, elements of a JSON array; errors name the line."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, cast

import ijson

from entail.data.reading import parse_json, shorten
from entail.errors import FormatError

_BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"
_CHUNK = re.compile(r".*?\}[ \t\r,]*\n|.+", re.DOTALL)


def open_text(file: str | os.PathLike[str]) -> io.TextIOWrapper:
    """Open a file for reading as UTF-8, gzipped or not; line ends stay as they are.

    Raises:
        FormatError: If it cannot be opened.
    """
    path = Path(file)
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == _GZIP
        if packed:
            return gzip.open(path, "rt", encoding="utf-8", newline="\n")
        return path.open(encoding="utf-8", newline="\n")
    except OSError as error:
        found = error.strerror or str(error)
        raise FormatError(f"expected a file that can be read, found: {found}", source=str(file)) from error


def pieces(file: str | os.PathLike[str]) -> Generator[str]:
    """Yield the text of a file in blocks; of a cut archive all that can be unpacked.

    Raises:
        FormatError: With the line, if the file is not UTF-8, damaged or cut; the text before it was yielded.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, ended = 1, False
    with open_text(file) as stream:
        packed = cast("io.BufferedReader | gzip.GzipFile", stream.buffer)
        while not ended:
            try:
                data = packed.read1(_BLOCK)
            except (EOFError, OSError, zlib.error) as error:
                raise _cut(error, file, line) from error
            ended = not data
            try:
                piece = decoder.decode(data, final=ended)
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode()
                if before:
                    yield before
                raise FormatError(
                    "expected text in UTF-8, found a binary file or other bytes; save the file as UTF-8",
                    source=str(file),
                    line=line + before.count("\n"),
                ) from error
            line += piece.count("\n")
            if piece:
                yield piece


def _cut(error: Exception, file: str | os.PathLike[str], line: int) -> FormatError:
    return FormatError(
        f"expected a whole file, found a damaged or cut one ({error}); what came before it was read",
        source=str(file),
        line=line,
    )


def lines(file: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of a file without its line end; never holds more than a line.

    Raises:
        FormatError: With the line, if the file is not UTF-8, or a damaged or cut archive.
    """
    number = 0
    with open_text(file) as stream:
        try:
            for number, line in enumerate(stream, start=1):
                yield number, line.rstrip("\r\n").removeprefix("\ufeff" if number == 1 else "")
        except UnicodeDecodeError as error:
            raise FormatError(
                "expected text in UTF-8, found other bytes; save the file as UTF-8",
                source=str(file),
                line=number + 1,
            ) from error
        except (EOFError, OSError, zlib.error) as error:
            raise _cut(error, file, number + 1) from error


def json_lines(file: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a JSONL file; never holds more than a line.

    Raises:
        FormatError: With the line, if it is not one JSON object.
    """
    for number, line in lines(file):
        if not line.strip():
            continue
        row = parse_json(line, source=str(file), line=number)
        if not isinstance(row, dict):
            raise FormatError(
                f"expected one JSON object, found {shorten(line)}", source=str(file), line=number
            )
        yield number, row


def json_array(file: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line on which it begins, object) of each element of a file that is one JSON array.

    Never holds more than an element and a block, so that official DPR files of several GB can be read.

    Raises:
        FormatError: With the line, if the array is cut or malformed, or an element is no object; the elements
            before it were yielded.
    """
    source = str(file)
    rows = ijson.sendable_list()
    parser = ijson.items_coro(rows, "item")
    count, start, mistake = 0, 0, None
    for line, text in _chunks(file):
        if not start and (rest := text.lstrip("\ufeff \t\r\n,[")):
            start = line + text.count("\n", 0, len(text) - len(rest))
        try:
            parser.send(text.encode()) if text else parser.close()
        except ijson.JSONError as error:
            mistake = error
        for row in rows:
            if not isinstance(row, dict):
                found = shorten(repr(row), 60)
                raise FormatError(f"expected an object, found {found}", source=source, line=start)
            yield start, row
            count, start = count + 1, max(start, line)
        if rows and text.rstrip(" \t\r\n,").endswith("}"):
            start = 0  # the next element begins in a later chunk
        rows.clear()
        if mistake is not None:
            reason = ": ".join(part.strip() for part in str(mistake).split("\n")[:2] if part.strip())
            raise FormatError(
                f"expected a whole JSON array, found its end or a mistake in element {count + 1:,} "
                f"({shorten(reason, 120)}); the {count:,} before it were read. Is the file cut? Download it "
                "again, or end it after the last whole element with ]",
                source=source,
                line=line,
            ) from mistake


def _chunks(file: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yield (first line, text) of chunks that end behind an object, and an empty text at the end."""
    line = 1
    try:
        for block in pieces(file):
            for text in _CHUNK.findall(block.removeprefix("\ufeff") if line == 1 else block):
                yield line, text
                line += text.count("\n")
    except FormatError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            raise
        # The parser reports a cut archive as a cut array, with the element.
    yield line, ""
