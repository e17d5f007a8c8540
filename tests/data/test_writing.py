"""Files that are replaced whole, and files that grow by blocks."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from entail.data import writing
from entail.data.reading import read_text
from entail.data.writing import append, begin_file, replacing, write_bytes, write_text
from entail.errors import DataError, SettingsError

WORDS = "the café is warm\n"
OURS, OTHERS = {"scorer": "a"}, {"scorer": "b"}


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.GZ"])
def test_a_file_is_replaced(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("old")
    write_text(file, WORDS)
    assert read_text(file) == WORDS
    packed = gzip.compress(WORDS.encode(), mtime=0)  # the same bytes at any time
    assert file.read_bytes() == (packed if name.lower().endswith("gz") else WORDS.encode())
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_errors_leave_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for file in (tmp_path / "folder", tmp_path / "absent" / "a.txt"):
        with pytest.raises(DataError):
            write_text(file, WORDS)
    file = tmp_path / "folder" / "a.bin"
    write_bytes(file, b"before")

    def interrupt() -> None:
        with replacing(file) as partial:
            partial.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert file.read_bytes() == b"before"
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "a.bin"]


def test_a_single_writer_reuses_the_temporary_name(tmp_path: Path) -> None:
    names = set()
    for alone in (True, True, False, False):
        with replacing(tmp_path / "a.bin", sole_writer=alone) as partial:
            names.add(partial.name)
            partial.write_bytes(b"whole")
    assert len(names) == 3


def begin(file: Path, settings: dict[str, str] = OURS, *, resume: bool = True) -> bool:
    return begin_file(file, settings, resume=resume)


def test_a_file_is_resumed_under_its_settings(tmp_path: Path) -> None:
    file = tmp_path / "some.tsv"
    assert not begin(file)
    append(file, "one\n")
    assert begin(file)
    with pytest.raises(SettingsError, match="scorer: expected 'b', found 'a'"):
        begin(file, OTHERS)
    assert file.read_text(encoding="utf-8") == "one\n"
    assert not begin(file, OTHERS, resume=False)
    assert file.read_bytes() == b""


@pytest.mark.parametrize("before", [None, OURS, OTHERS])
def test_a_file_begun_without_settings_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: dict[str, str] | None
) -> None:
    def kill(*_: Any) -> None:
        raise KeyboardInterrupt

    file = tmp_path / "some.tsv"
    if before is not None:
        begin(file, before)
        append(file, "old\n")
    with monkeypatch.context() as patch:
        patch.setattr(writing, "write_text", kill)
        with pytest.raises(KeyboardInterrupt):
            begin(file, resume=False)
    assert not begin(file)
    append(file, "one\n")
    assert begin(file)


def test_a_file_of_somebody_else_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "letters.txt"
    file.write_text("dear reader\n", encoding="utf-8")
    with pytest.raises(DataError, match="settings"):
        begin(file)
    assert file.read_text(encoding="utf-8") == "dear reader\n"
    with pytest.raises(DataError, match=r"x\.tsv"):
        begin(tmp_path / "absent" / "x.tsv")
