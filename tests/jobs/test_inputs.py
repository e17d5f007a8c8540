"""Files that a job reads."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from entail.errors import JobError
from entail.jobs import jobs as module
from entail.jobs.jobs import Jobs, absolute, store


@dataclass(frozen=True)
class Reads:
    trees: Annotated[Path | None, "a file"] = None
    limit: Annotated[int, "a number"] = 3


def test_store_by_content(tmp_path: Path) -> None:
    first = store(tmp_path, "trees.jsonl", b"one")
    assert first.read_bytes() == b"one"
    assert first.name == "trees.jsonl"
    assert store(tmp_path, "trees.jsonl", b"one") == first
    assert store(tmp_path, "trees.jsonl", b"two") != first
    assert first.read_bytes() == b"one"


@pytest.mark.parametrize("name", ["../../up.txt", "/etc/up.txt", "a/b/up.txt"])
def test_store_ignores_folders_of_the_name(tmp_path: Path, name: str) -> None:
    path = store(tmp_path / "given", name, b"x")
    assert path.resolve().is_relative_to(tmp_path / "given")
    assert path.name == "up.txt"


def test_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    assert absolute(Reads(Path("t.jsonl"))) == {"trees": str(tmp_path / "t.jsonl"), "limit": 3}
    assert absolute(Reads()) == {"trees": None, "limit": 3}
    with pytest.raises(JobError, match="trees: expected a file, found none"):
        absolute(Reads(Path("gone.jsonl")))


def test_delete_prunes_the_inputs(jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, trees = jobs.keep_file("facts.txt", b"ice is cold"), jobs.keep_file("trees.jsonl", b"{}")
    monkeypatch.setattr(module, "MAX_AGE", -1.0)
    source = {"corpus": corpus, "trees": trees}
    first, second = (jobs.submit("aeenc", {}, source, name=name, by="Ann") for name in ("one", "two"))
    for job in (first, second):
        jobs.cancel(job.id, by="Ann")
    jobs.delete(first.id)
    assert corpus.exists()
    jobs.delete(second.id)
    assert not corpus.exists()
    unused = jobs.keep_file("more.txt", b"fire is hot")
    jobs.keep_file("others.txt", b"snow is white")
    assert not unused.exists()
