"""Backups that must not be believed: altered, foreign, of other versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from entail.errors import DatabaseError, FormatError
from entail.trees.installation.backup import restore
from entail.trees.installation.health import examine
from entail.trees.store.database import open_database
from tests.trees.backup.conftest import new_url, rewrite, table


def part(name: str, content: bytes = b"evil") -> Any:
    """Return a change that adds a part, or replaces it."""
    return lambda parts, manifest: parts.update({name: content})


def about(**fields: Any) -> Any:
    """Return a change of the manifest."""
    return lambda parts, manifest: manifest.update(fields)


@pytest.mark.parametrize(
    ("change", "seal"),
    [
        (about(format_version=2), False),
        (about(format="holiday pictures"), False),
        (about(parts=["x"]), False),
        (part("tables/authors.jsonl", b"{}\n"), False),
        (lambda parts, manifest: parts.pop("tables/events.jsonl"), False),
        (part("more.txt"), False),
        *((part(name), True) for name in ("../evil", "models/../../evil", "/etc/evil", "models/a/../evil")),
        *((part(name), True) for name in ("models", "vectors/x")),
        (part("tables/other.jsonl", b""), True),
        (table(lambda rows: rows.append([]), "trees"), True),
        (table(lambda rows: rows[0].update(height=3), "trees"), True),
        (table(lambda rows: rows[0].update(at="yesterday"), "events"), True),
        (table(lambda rows: rows[0].update(author="Nobody"), "events"), True),
        (table(lambda rows: rows[0].pop("author"), "events"), True),
        (table(lambda rows: rows.pop(), "premises"), True),
        (about(revision="9999"), True),
    ],
)
def test_nothing_is_restored_from_a_file_that_does_not_fit(
    saved: Path, tmp_path: Path, change: Any, seal: bool
) -> None:
    rewrite(saved, change, seal=seal)
    before = set(tmp_path.rglob("*"))
    with pytest.raises((FormatError, DatabaseError)):
        restore(saved, url=new_url(tmp_path))
    assert {p.name for p in set(tmp_path.rglob("*")) - before} <= {"new", "x.db", "x.db-wal", "x.db-shm"}
    assert set(examine(open_database(new_url(tmp_path))).rows.values()) == {0}


def test_a_backup_of_an_older_version(saved: Path, blank_url: str, next_version: Callable[[], Path]) -> None:
    next_version()
    restore(saved, url=blank_url)
    database = open_database(blank_url)
    with database.reading() as connection:
        notes = connection.execute(sa.text("SELECT note FROM trees ORDER BY note")).scalars().all()
    assert notes == ["from before: h", "from before: put away"]
    assert examine(database).problems == ()
