"""Files that a job reads: kept by their content, as long as a job reads them."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from entail.errors import JobError
from entail.jobs import inputs
from entail.jobs.inputs import absolute, prune, store
from entail.jobs.jobs import Jobs


@dataclass(frozen=True)
class Reads:
    trees: Annotated[Path | None, "a file"] = None
    limit: Annotated[int, "a number"] = 3


def test_the_same_file_is_kept_once_and_another_beside_it(tmp_path: Path) -> None:
    first = store(tmp_path, "trees.jsonl", b"one")
    assert first.read_bytes() == b"one"
    assert first.name == "trees.jsonl"
    assert store(tmp_path, "trees.jsonl", b"one") == first
    assert store(tmp_path, "trees.jsonl", b"two") != first
    assert first.read_bytes() == b"one"


@pytest.mark.parametrize("name", ["../../up.txt", "/etc/up.txt", "a/b/up.txt"])
def test_a_name_is_not_a_way_out(tmp_path: Path, name: str) -> None:
    place = store(tmp_path / "given", name, b"x")
    assert place.resolve().is_relative_to(tmp_path / "given")
    assert place.name == "up.txt"


def test_one_that_was_cut_short_is_written_anew(tmp_path: Path) -> None:
    place = store(tmp_path, "a.txt", b"whole")
    place.write_bytes(b"wh")
    assert store(tmp_path, "a.txt", b"whole").read_bytes() == b"whole"


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JobError, match=r"a.txt cannot be stored"):
        store(tmp_path / "file", "a.txt", b"x")


def test_what_no_job_reads_goes_after_a_day(tmp_path: Path) -> None:
    old, read, new = (store(tmp_path, name, name.encode()) for name in ("old", "read", "new"))
    for place in (old, read):
        os.utime(place, (0, 0))
    prune(tmp_path, [str(read), "None", "3"])
    assert [place.exists() for place in (old, read, new)] == [False, True, True]
    assert not old.parent.exists()


def test_a_source_names_its_files_from_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    assert absolute(Reads(Path("t.jsonl"))) == {"trees": str(tmp_path / "t.jsonl"), "limit": 3}
    assert absolute(Reads()) == {"trees": None, "limit": 3}
    with pytest.raises(JobError, match="trees: expected a file, found none"):
        absolute(Reads(Path("gone.jsonl")))


def test_a_deleted_job_takes_its_files_along(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "MAX_AGE", -1.0)
    corpus, trees = jobs.keep_file("facts.txt", b"ice is cold"), jobs.keep_file("trees.jsonl", b"{}")
    source = {"corpus": corpus, "trees": trees}
    first, second = (jobs.submit("aeenc", {}, source, name=name, by="Ann") for name in ("one", "two"))
    for job in (first, second):
        jobs.cancel(job.id, by="Ann")
    jobs.delete(first.id)
    assert corpus.exists()
    jobs.delete(second.id)
    assert not corpus.exists()
