"""Values checked by their type: JSON that this package wrote, read within bounds, and rows of other files."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from entail.data.reading import open_regular, shorten
from entail.errors import DataError, EntailError, FormatError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

MAX_JSON_BYTES = 2**26
"""Size limit of a file, unless a caller knows that its files grow with their data."""


def read_json(
    file: Path,
    kind: type[T],
    *,
    error: type[EntailError] = DataError,
    remedy: str = "restore it from a backup, or remove it",
    max_bytes: int = MAX_JSON_BYTES,
) -> T | None:
    """Return the content of a JSON file as a type, None if there is no such file; see `parse_as`.

    Raises:
        EntailError: Of the class `error` and with `remedy`, if it is a folder, a pipe or a device, larger
            than `max_bytes`, or its content is something else.
    """
    try:
        with io.BufferedReader(open_regular(file)) as stream:
            data = stream.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise ValueError(f"larger than {max_bytes:,} bytes")
        return parse_as(kind, data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        name = f"{file.parent.name}/{file.name}"
        raise error(
            f"{name}: expected JSON that fits, found something else ({reason}); {remedy}"
        ) from problem


def parse_as(kind: type[T], data: bytes | str, *, extra: Literal["ignore", "forbid"] = "ignore") -> T:
    """Return JSON as a type: `object` for any, or one of dataclasses with types that JSON has.

    Types are strict: a number is no text, nor is a truth value a number. Unknown fields are ignored, as newer
    versions may write them, or forbidden.

    Raises:
        ValueError: If it is not JSON in UTF-8, is nested 200 levels deep, has a number of 4,300 digits, or is
            of another type; names the first field that is.

    >>> parse_as(dict[str, int], '{"seed": "1"}')
    Traceback (most recent call last):
    ValueError: seed: Input should be a valid integer
    """
    from pydantic import ValidationError

    try:
        content: T = _adapter(kind).validate_json(data, strict=True, extra=extra)  # type: ignore[arg-type]  # types are hashable
    except ValidationError as error:
        issue: Any = error.errors(include_url=False, include_context=False, include_input=False)[0]
        location = ".".join(map(str, issue["loc"]))
        raise ValueError(shorten(f"{location}: {issue['msg']}" if location else issue["msg"], 200)) from None
    return content


def validate(
    kind: type[T], value: object, *, source: str | None, line: int | None = None, strict: bool | None = None
) -> T:
    """Return a value of a file that someone else wrote as a model of pydantic's.

    Raises:
        FormatError: With source, line and the first field that is wrong.
    """
    from pydantic import ValidationError

    try:
        content: T = _adapter(kind).validate_python(value, strict=strict)  # type: ignore[arg-type]  # types are hashable
    except ValidationError as error:
        first = error.errors()[0]
        parts = [part for part in first["loc"] if part != "[key]"]
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
        actual = "none" if first["type"] == "missing" else shorten(repr(first["input"]))
        message = f"{first['msg']}, found {actual}; correct it, or remove the row"
        raise FormatError(message, source=source, line=line, field=field.removeprefix(".")) from error
    return content


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
