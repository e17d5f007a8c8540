"""Files that are replaced whole."""

import gzip
from pathlib import Path

import pytest

from entail.data.reading import read_text
from entail.data.writing import replacing, write_bytes, write_text
from entail.errors import DataError

WORDS = "the café is warm\n"


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
