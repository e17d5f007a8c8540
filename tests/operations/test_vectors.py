"""Damaged files of the vector cache are named and removed; a merge that is killed loses nothing."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.index.store import MOST_SMALL, VectorStore, digest_of, write_segment
from entail.jobs.jobs import Jobs
from entail.operations.cleaning import clean, list_removable
from entail.operations.doctor import diagnose
from tests.attack.forks import Fork
from tests.operations.test_cleaning import age

REVISION, METRIC = "minilm@000000000000", "inner_product"


def add(folder: Path, first: int, *, dimension: int = 4, revision: str = REVISION) -> Path:
    numbers = np.arange(first, first + 3, dtype=np.uint64)
    rows = np.full((3, dimension), first, dtype=np.float16)
    return write_segment(folder, numbers, rows, revision=revision, metric=METRIC)


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes] | None]] = {
    "cut": (".rows.npy", lambda content: content[:-8]),
    "empty": (".rows.npy", lambda content: b""),
    "a bit": (".rows.npy", lambda content: content[:-1] + b"\1"),
    "a lost array": (".numbers.npy", None),
    "manifest": (".json", lambda content: b"{"),
    "a lost manifest": (".json", None),
}
"""Suffix of a file of a segment and what changes its content; None removes it."""


def leftovers(jobs: Jobs) -> list[str]:
    return [item.id for item in list_removable(jobs) if item.kind == "leftovers"]


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_segment_is_named_and_removed_and_the_rest_stays(jobs: Jobs, kind: str) -> None:
    folder = jobs.settings.vectors_dir / REVISION
    whole, damaged = add(folder, 0), add(folder, 10)
    assert leftovers(jobs) == []
    suffix, change = DAMAGES[kind]
    file = damaged.with_suffix(suffix)
    if change is None:
        file.unlink()
    else:
        file.write_bytes(change(file.read_bytes()))
    if kind == "a lost manifest":  # of a new segment it may not be there yet
        for path in folder.glob(f"{damaged.stem}.*"):
            age(path)
    item = f"leftovers/vectors/{REVISION}/{damaged.name}"
    assert leftovers(jobs) == [item]
    assert [item in problem for problem in diagnose().problems].count(True) == 1
    assert [removed.id for removed in clean([item], jobs=jobs).removed] == [item]
    assert leftovers(jobs) == []
    assert sorted(path.name.partition(".")[0] for path in folder.glob("[0-9]*")) == [whole.stem] * 3


def test_a_segment_that_is_being_written_is_no_problem(jobs: Jobs) -> None:
    segment = add(jobs.settings.vectors_dir / REVISION, 0)
    segment.unlink()
    assert leftovers(jobs) == []


@pytest.mark.parametrize("other", [{"dimension": 5}, {"revision": "other@000000000000"}])
def test_a_segment_of_another_encoder_does_not_belong(jobs: Jobs, other: dict[str, Any]) -> None:
    folder = jobs.settings.vectors_dir / REVISION
    add(folder, 0), add(folder, 10)
    odd = add(folder, 20, **other)
    assert leftovers(jobs) == [f"leftovers/vectors/{REVISION}/{odd.name}"]


def test_an_index_that_is_not_the_one_of_its_manifest(jobs: Jobs) -> None:
    folder = jobs.settings.vectors_dir / REVISION / "ivf"
    folder.mkdir(parents=True)
    for name in ("whole", "other"):
        (folder / f"{name}.faiss").write_bytes(name.encode())
        digest = digest_of(folder / "whole.faiss")
        (folder / f"{name}.json").write_text(json.dumps({"sha256": digest}))
    (folder / "single.json").write_text("{}")
    expected = {f"leftovers/vectors/{REVISION}/ivf/{name}.json" for name in ("other", "single")}
    assert set(leftovers(jobs)) == expected
    assert len(clean(sorted(expected), jobs=jobs).removed) == 2
    assert sorted(path.name for path in folder.iterdir()) == ["whole.faiss", "whole.json"]


def test_a_merge_that_is_killed_at_any_step_loses_nothing(tmp_path: Path) -> None:
    numbers = np.arange(3 * (MOST_SMALL + 1), dtype=np.uint64)

    def opened(folder: Path) -> VectorStore:
        return VectorStore(folder, revision=REVISION, dimension=4, metric=METRIC)

    def merge(folder: Path, last: int) -> None:
        """Merge, and end before the step of this number that changes a file."""
        store, steps = opened(folder), count(1)

        def step(event: str, arguments: tuple[Any, ...]) -> None:
            writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
            if (writes or event in ("os.rename", "os.remove")) and next(steps) == last:
                os._exit(9)

        sys.addaudithook(step)
        store.merge()

    for first in range(0, len(numbers), 3):
        add(tmp_path / "small", first)
    for last in count(1):
        folder = tmp_path / str(last)
        shutil.copytree(tmp_path / "small", folder)
        status = Fork(lambda _, folder=folder, last=last: merge(folder, last)).join()[1]
        rows = opened(folder).read(numbers)
        assert rows is not None
        assert rows[:, 0].tolist() == (numbers // 3 * 3).tolist()
        if status == 0:
            break
        assert status == 9
    assert last > MOST_SMALL, "it was killed between the files that are removed, too"
    assert len(list(folder.glob("[0-9]*.json"))) == 1
