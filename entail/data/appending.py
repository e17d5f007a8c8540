"""A file that is written a block at a time, and gone on with where it was cut off.

Beside it stands what it is of (`FILE.settings.json`), so that no two runs are mixed in one file. An
empty file holds nothing of any run, whatever stands beside it: a run killed at its beginning begins again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from entail.data.writing import write_text
from entail.errors import DataError, SettingsError


def begin_file(file: Path, told: Mapping[str, str], *, resume: bool, what: str) -> bool:
    """Make a file ready to be appended to; return whether one that holds something is gone on with.

    Args:
        file: Where to.
        told: What its content depends on.
        resume: Whether to go on with a file that is there; else it is written anew.
        what: What its content is, in words, such as `rankings`.

    Raises:
        DataError: If the file cannot be written, or nothing says of what it is.
        SettingsError: If it is of other settings.
    """
    try:
        if resume and file.exists() and file.stat().st_size:
            _require_same(file, told, what=what)
            return True
        # Emptied before its settings are replaced: else a process killed between the two would leave the
        # old content under the new settings.
        file.write_text("", encoding="utf-8")
    except OSError as error:
        raise _cannot(file, what, error) from error
    write_text(_beside(file), json.dumps(dict(told), indent=2) + "\n")
    return False


def append(file: Path, block: str, *, what: str) -> None:
    """Add a block of whole lines.

    Raises:
        DataError: If it cannot be written.
    """
    try:
        with file.open("a", encoding="utf-8", newline="\n") as opened:
            opened.write(block)
    except OSError as error:
        raise _cannot(file, what, error) from error


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    """Return in words where two fingerprints differ, nothing where they do not.

    >>> differences({"seed": "0", "base": "minilm"}, {"seed": "1", "base": "minilm"})
    "seed: expected '0', found '1'"
    """
    return "; ".join(
        f"{name}: expected {expected.get(name)!r}, found {found.get(name)!r}"
        for name in sorted({*expected, *found})
        if expected.get(name) != found.get(name)
    )


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.name}.settings.json")


def _require_same(file: Path, told: Mapping[str, str], *, what: str) -> None:
    try:
        found = json.loads(_beside(file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise DataError(
            f"{file.name} is there already, and nothing says of what it is; give another file, or begin anew "
            "(--no-resume)"
        )
    differing = differences(told, found)
    if differing:
        raise SettingsError(
            f"{file.name} holds other {what} ({differing}); give another file, or begin anew (--no-resume)"
        )


def _cannot(file: Path, what: str, error: OSError) -> DataError:
    return DataError(
        f"{file.name}: expected to write {what} here, found: {error.strerror}; make room, then run the same "
        "again: it goes on"
    )
