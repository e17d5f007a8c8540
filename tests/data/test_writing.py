"""Files written whole or not at all."""

import gzip
from pathlib import Path

import pytest

from entail.data.reading import read_text
from entail.data.writing import write_text
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
