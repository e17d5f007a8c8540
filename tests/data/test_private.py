"""Rights of files and folders: their owner's only, whatever the mask of the process."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from entail.data.private import create_private, make_folder, make_private

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no such rights")


@pytest.fixture(autouse=True)
def mask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_folders_are_made_with_those_above_them(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    for _ in range(2):
        make_folder(shared / "a" / "b")
    assert [mode(path) for path in (shared, shared / "a", shared / "a" / "b")] == [0o755, 0o700, 0o700]
    (shared / "file").touch()
    with pytest.raises(OSError, match="file"):
        make_folder(shared / "file" / "a")


def test_files_are_created_or_restricted(tmp_path: Path) -> None:
    create_private(tmp_path / "new")
    (tmp_path / "old").write_text("kept")
    (tmp_path / "old").chmod(0o644)
    create_private(tmp_path / "old")
    (tmp_path / "locked").touch(mode=0o444)
    make_private(tmp_path / "locked")
    assert [mode(tmp_path / name) for name in ("new", "old", "locked")] == [0o600, 0o600, 0o400]
    assert (tmp_path / "old").read_text() == "kept"
