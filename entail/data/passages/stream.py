"""Streaming readers of large files: lines, JSONL, JSON arrays; what precedes an error is yielded."""

from __future__ import annotations

import codecs
import contextlib
import os
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from typing import Any, BinaryIO, cast

import ijson

from entail.data.reading import DAMAGED, open_binary, parse_object, shorten
from entail.errors import FormatError

MAX_LINE = 1 << 24
"""Limit of the bytes of a line."""

_PIECE = 1 << 13
_MAX_BRACKETS = 10_000
"""Opening brackets of an element. ijson keeps a path for each level: 100,000 levels would take 25 GB."""


def read_head(file: str | os.PathLike[str], size: int) -> str:
    """Return the beginning of a file as text, of a damaged one as far as it can be read."""
    head = b""
    with open_binary(file) as stream, contextlib.suppress(*DAMAGED):
        while len(head) < size and (block := _read_some(stream, size)):
            head += block
    return head[:size].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")


def lines(file: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of a file without its line end; never holds more than a line.

    Raises:
        FormatError: With the line, if it is longer than `MAX_LINE` or no UTF-8, or the archive is damaged.
    """
    number = 0
    with open_binary(file) as stream:
        try:
            for number, line in enumerate(iter(partial(stream.readline, MAX_LINE), b""), start=1):
                if len(line) == MAX_LINE:
                    message = f"expected lines of at most {MAX_LINE:,} bytes, found a longer one"
                    raise FormatError(message, source=str(file), line=number)
                yield number, line.decode().rstrip("\r\n").removeprefix("\ufeff" if number == 1 else "")
        except UnicodeDecodeError as error:
            message = "expected text in UTF-8, found a binary file or other bytes; save the file as UTF-8"
            raise FormatError(message, source=str(file), line=number) from error
        except DAMAGED as error:
            message = f"expected a whole file, found a damaged or cut one ({error})"
            raise FormatError(message, source=str(file), line=number + 1) from error


def json_lines(file: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a JSONL file; raise `FormatError` at a line that is none."""
    for number, line in lines(file):
        if line.strip():
            yield number, parse_object(line, source=str(file), line=number)


def json_array(file: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number from 1, object) of each element of a file that is one JSON array.

    Never holds more than an element and a block, so that official DPR files of several GB can be read.

    Raises:
        FormatError: With the element, if the array is cut or malformed, or an element is no object.
    """
    rows, number, piece, brackets = ijson.sendable_list(), 0, b" ", 0
    mark = codecs.BOM_UTF8
    parser = ijson.items_coro(rows, "item")
    mistake: Exception | None = None
    with open_binary(file) as stream:
        while piece and mistake is None:
            try:
                piece, mark = _read_some(stream, _PIECE).removeprefix(mark), b""
                brackets += piece.count(b"[") + piece.count(b"{")
                if brackets > _MAX_BRACKETS:
                    raise ijson.JSONError(f"more than {_MAX_BRACKETS:,} lists and objects in one element")
                parser.send(piece) if piece else parser.close()
            except (ijson.JSONError, UnicodeDecodeError, RecursionError, *DAMAGED) as error:
                mistake = error
            brackets = 0 if rows else brackets
            for row in rows:
                number += 1
                if not isinstance(row, dict):
                    message = f"element {number}: expected an object, found {shorten(repr(row), 60)}"
                    raise FormatError(message, source=str(file))
                yield number, row
            rows.clear()
    if mistake is not None:
        reason = shorten(" ".join(str(mistake).split()), 120)
        raise FormatError(
            f"expected a whole JSON array in UTF-8, found a mistake in element {number + 1:,} ({reason}); "
            "download the file again, or end it after the last whole element with ]",
            source=str(file),
        ) from mistake


def _read_some(stream: BinaryIO, size: int) -> bytes:
    """Read a block; of a cut archive what precedes the cut, as `read` would not."""
    return cast("BufferedReader", stream).read1(size)
