"""Large files, read piece by piece: lines, elements of a JSON array; a bad place is named."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, cast

from entail.data.reading import parse_json, shorten
from entail.errors import FormatError

_BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"


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
    """Yield a file's text piece by piece; of a cut archive all that can be unpacked.

    Raises:
        FormatError: With the line, where the file is no UTF-8, damaged or cut; what came before was yielded.
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
        FormatError: With the line, where the file is no UTF-8, or damaged or cut (gzip).
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

    Never holds more than an element and a block; so official DPR files of several GB can be read.

    Raises:
        FormatError: With the line, where the array ends in the middle or an element is no object; what came
            before was yielded.
    """
    decoder = json.JSONDecoder()
    source = str(file)
    buffer, place, line, count, opened = "", 0, 1, 0, False
    with contextlib.closing(pieces(file)) as stream:
        ended = False
        while True:
            gap = re.compile(r"[\s,\ufeff]*").match(buffer, place)
            assert gap is not None
            line += buffer.count("\n", place, gap.end())
            place = gap.end()
            if not opened and place < len(buffer):
                if buffer[place] != "[":
                    raise FormatError("expected a JSON array, which begins with [", source=source, line=line)
                opened, place = True, place + 1
                continue
            if opened and place < len(buffer) and buffer[place] == "]":
                return
            try:
                if place == len(buffer):
                    raise json.JSONDecodeError("end", buffer, place)
                value, end = decoder.raw_decode(buffer, place)
            except (json.JSONDecodeError, RecursionError) as error:
                try:
                    more = "" if ended else next(stream, "")
                except FormatError as caught:
                    if isinstance(caught.__cause__, UnicodeDecodeError):
                        raise
                    more = ""  # a cut archive is told as a cut array, with the element
                ended = not more
                if more:
                    buffer, place = buffer[place:] + more, 0
                    continue
                at = line + buffer.count("\n", place, getattr(error, "pos", place))
                raise FormatError(
                    f"expected a whole JSON array, found its end or a mistake in element {count + 1:,}: "
                    f"{shorten(repr(buffer[place : place + 60]), 80)}; the {count:,} before it were read. Is "
                    "the file cut? Download it again, or end it after the last whole element with ]",
                    source=source,
                    line=at,
                ) from error
            if not isinstance(value, dict):
                found = shorten(repr(value), 60)
                raise FormatError(f"expected an object, found {found}", source=source, line=line)
            yield line, value
            line += buffer.count("\n", place, end)
            count, place = count + 1, end
