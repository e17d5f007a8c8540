"""Files that this package wrote: what is refused, and by which error."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from entail.data.stored import parse_as, read_json
from entail.errors import DataError, JobError


@dataclass(frozen=True)
class Point:
    x: int
    name: str = "origin"


def test_content_as_a_type(tmp_path: Path) -> None:
    file = tmp_path / "point.json"
    assert read_json(file, Point) is None
    file.write_text('{"x": 1, "name": "caf\u00e9", "newer": true}', encoding="utf-8")
    assert read_json(file, Point) == Point(1, "caf\u00e9")
    assert read_json(file, object) == {"x": 1, "name": "caf\u00e9", "newer": True}


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff", b"[" * 100_000, b'{"x": ' + b"1" * 10_000 + b"}", b'{"x": "\\ud800"}'),
        *(b'{"x": "1"}', b'{"x": true}', b'{"x": 1.0}', b"{}", b"[]", b"null", b'{"x": 1, "name": null}'),
    ],
)
def test_content_of_another_type(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "point.json"
    file.write_bytes(content)
    with pytest.raises(JobError, match=r"point\.json.*delete the job"):
        read_json(file, Point, error=JobError, remedy="delete the job")
    with pytest.raises(ValueError, match=r"."):
        parse_as(Point, content)


def test_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "device").symlink_to("/dev/zero")
    for path in (tmp_path, *tmp_path.iterdir(), tmp_path / ("x" * 5000)):
        with pytest.raises(DataError):
            read_json(path, object)


def test_a_large_file(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text("[1, 2, 3]")
    assert read_json(file, list[int], max_bytes=9) == [1, 2, 3]
    with pytest.raises(DataError):
        read_json(file, list[int], max_bytes=8)
