"""JSON as its standard has it, and nothing that two readers could take for different things."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from entail.errors import ServingError

_BRACKETS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


def parse(body: bytes, *, nesting: int) -> Any:  # noqa: ANN401 - JSON is of any type
    """Return what a body says.

    >>> parse(b'{"k": 3}', nesting=4)
    {'k': 3}

    Args:
        body: UTF-8.
        nesting: Depth of lists and objects at most.

    Raises:
        ServingError: If it is not JSON, says a field twice, nests too deeply, or holds NaN, infinity, a
            number beyond all bounds or half a character.
    """
    if not body.strip():
        raise _refusal("expected a JSON object, found an empty body")
    _check_nesting(body, nesting)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refusal(f"expected UTF-8, found another byte at position {error.start}") from error
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise _refusal(f"expected JSON: {error.msg} (line {error.lineno}, column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits
        raise _refusal("expected JSON with numbers of a usual size, found one beyond all bounds") from error
    if "\\u" in text:
        _check_characters(found)
    return found


def _refusal(message: str, *, field: str | None = None) -> ServingError:
    return ServingError(message, kind="bad_json", status=400, field=field)


def _check_nesting(body: bytes, nesting: int) -> None:
    depth = 0
    for found in _BRACKETS.finditer(body):
        first = body[found.start()]
        depth += (first in b"[{") - (first in b"]}")
        if depth > nesting:
            raise _refusal(f"expected JSON nested at most {nesting} deep, found it deeper")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _refusal("expected each field once, found one twice", field=printable(twice))
    return found


def _no_constant(name: str) -> NoReturn:
    raise _refusal(f"expected JSON, which has no word for {name}")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _refusal("expected JSON with numbers of a usual size, found one beyond all bounds")
    return number


def _check_characters(found: Any) -> None:  # noqa: ANN401 - JSON is of any type
    """Refuse one half of a surrogate pair, which is no character and cannot be written as UTF-8."""
    waiting = [found]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, str) and not item.isascii():
            try:
                item.encode("utf-8")
            except UnicodeEncodeError as error:
                raise _refusal("expected characters, found half of one (a lone surrogate)") from error


def printable(text: str, *, most: int = 60) -> str:
    """Return text of a client's as it can stand in an answer: short, and of characters that can be shown.

    >>> printable("a" * 100, most=4)
    'aaaa…'
    """
    short = text if len(text) <= most else text[:most] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in short)
