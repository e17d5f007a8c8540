"""Files written whole or not at all."""

import gzip
from pathlib import Path

import pytest

from entail.data.reading import read_text
from entail.data.writing import replacing, write_bytes, write_text
from entail.errors import DataError

WORDS = "the café is warm\n"


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.GZ"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("what was there before")
    write_text(file, WORDS)
    assert read_text(file) == WORDS
    assert (file.read_bytes() != WORDS.encode()) == name.lower().endswith("gz")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_packed_bytes_do_not_know_the_time(tmp_path: Path) -> None:
    write_text(tmp_path / "a.gz", WORDS)
    assert (tmp_path / "a.gz").read_bytes() == gzip.compress(WORDS.encode(), mtime=0)


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="folder: expected to write a file here, found: Is a directory"):
        write_text(tmp_path / "folder", WORDS)
    with pytest.raises(DataError, match=r"no folder .*away; make it first"):
        write_text(tmp_path / "away" / "a.txt", WORDS)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_an_error_on_the_way_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    write_bytes(file, b"before")

    def interrupted() -> None:
        with replacing(file) as partial:
            partial.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_who_writes_alone_writes_over_what_a_killed_process_left(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    names = set()
    for alone in (True, True, False, False):
        with replacing(file, alone=alone) as partial:
            names.add(partial.name)
            partial.write_bytes(b"whole")
    assert len(names) == 3
    assert file.read_bytes() == b"whole"
