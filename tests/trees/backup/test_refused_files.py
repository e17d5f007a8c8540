"""Files that must not be believed: cut off, altered, foreign, of other versions."""

from __future__ import annotations

import os
import zipfile
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


def refused(file: Path, url: str) -> None:
    with pytest.raises(FormatError) as error:
        restore(file, url=url)
    assert file.name in str(error.value)
    database = open_database(url)
    assert set(examine(database).rows.values()) == {0}, "nothing was restored"
    database.close()


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.999])
def test_a_backup_that_is_cut_off(saved: Path, tmp_path: Path, keep: float) -> None:
    data = saved.read_bytes()
    saved.write_bytes(data[: int(len(data) * keep)])
    refused(saved, new_url(tmp_path))


def test_a_backup_with_a_flipped_bit(saved: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        at = archive.getinfo("tables/events.jsonl").header_offset + 80
    data = bytearray(saved.read_bytes())
    data[at] ^= 0x10
    saved.write_bytes(data)
    refused(saved, new_url(tmp_path))


@pytest.mark.parametrize(
    "change",
    [
        lambda parts, manifest: manifest.update(format_version=2),
        lambda parts, manifest: manifest.update(format="holiday pictures"),
        lambda parts, manifest: manifest.update(parts=["x"]),
        lambda parts, manifest: parts.update({"tables/authors.jsonl": b"{}\n"}),
        lambda parts, manifest: parts.pop("tables/events.jsonl"),
        lambda parts, manifest: parts.update({"more.txt": b"x"}),
    ],
)
def test_a_manifest_that_does_not_fit(saved: Path, tmp_path: Path, change: Any) -> None:
    rewrite(saved, change, seal=False)
    refused(saved, new_url(tmp_path))


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "models/../../evil",
        "/etc/evil",
        "models/a/../evil",
        *(["models/a\\..\\evil", "models/C:evil"] if os.name == "nt" else []),
        "models",
        "vectors/x",
    ],
)
def test_a_part_cannot_leave_its_place(saved: Path, tmp_path: Path, name: str) -> None:
    rewrite(saved, lambda parts, manifest: parts.update({name: b"evil"}))
    before = sorted(tmp_path.rglob("*"))
    refused(saved, new_url(tmp_path))
    assert {p.name for p in set(tmp_path.rglob("*")) - set(before)} <= {"new", "x.db", "x.db-wal", "x.db-shm"}


@pytest.mark.parametrize(
    "change",
    [
        table(lambda rows: rows.append([]), "trees"),
        lambda parts, manifest: parts.update({"tables/other.jsonl": b""}),
        table(lambda rows: rows[0].update(height=3), "trees"),
        table(lambda rows: rows[0].update(at="yesterday"), "events"),
        table(lambda rows: rows[0].update(author="Nobody"), "events"),
        table(lambda rows: rows[0].pop("author"), "events"),
        table(lambda rows: rows.pop(), "premises"),
    ],
)
def test_rows_that_do_not_fit(saved: Path, tmp_path: Path, change: Any) -> None:
    rewrite(saved, change)
    refused(saved, new_url(tmp_path))


def test_a_backup_of_a_newer_version(saved: Path, tmp_path: Path) -> None:
    rewrite(saved, lambda parts, manifest: manifest.update(revision="9999"))
    with pytest.raises(DatabaseError, match="revision 9999, newer than this version"):
        restore(saved, url=new_url(tmp_path))


def test_a_backup_of_an_older_version(saved: Path, blank_url: str, next_version: Callable[[], Path]) -> None:
    next_version()
    restore(saved, url=blank_url)
    database = open_database(blank_url)
    with database.reading() as connection:
        notes = connection.execute(sa.text("SELECT note FROM trees ORDER BY note")).scalars().all()
    assert notes == ["from before: h", "from before: put away"]
    assert examine(database).problems == ()
