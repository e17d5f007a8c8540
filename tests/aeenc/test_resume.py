"""A training that is killed at any moment ends with the weights of one that is not, bit for bit."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KILLED = Path(__file__).with_name("killed.py")

Train = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def train(tiny_models: Path, grove: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Train:
    """Train into a folder by processes that are killed at some moments; what the last one came to."""
    home = tmp_path_factory.mktemp("killed")
    (home / "trees.jsonl").write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    (home / "facts.txt").write_text("\n".join(grove["facts"]), encoding="utf-8")
    environment = {
        **os.environ,
        "ENTAIL_MODELS_DIR": str(tiny_models),
        "ENTAIL_DATA_DIR": str(home / "data"),
        "ENTAIL_DEVICE": "cpu",
        "OMP_NUM_THREADS": "1",
    }

    def run(name: str, towers: str, *moments: str) -> dict[str, Any]:
        out = home / name
        files = [str(home / "trees.jsonl"), str(home / "facts.txt"), str(out)]
        done = subprocess.run(
            [sys.executable, str(KILLED), *files, towers, *moments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-2000:]}"
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        told["files"] = {
            path.relative_to(out).as_posix(): path.read_bytes()
            for path in out.rglob("*")
            if path.is_file() and path.name != "README.md"  # it bears the folder's name
        }
        assert not [path.name for path in home.iterdir() if path.name.startswith(".")]
        return told

    return run


def test_killed_wherever_it_may_be_it_ends_the_same(train: Train) -> None:
    """Two rounds of two epochs of two steps; the dual encoder also draws premises by lot."""
    whole = train("whole", "dual")
    assert (whole["resumed"], whole["steps"], whole["samples"]) == (0, 8, 2)
    killed = train(
        "killed",
        "dual",
        "evaluate:1",  # before the first step
        "sample:1",  # in the first round's pass, of which nothing is kept
        "step:1",  # before its checkpoint
        "checkpoint:1",  # written beside its place
        "step:2",  # in the middle of an epoch
        "evaluate:1",  # between two epochs, the last step's checkpoint is there
        "step:3",  # after the next round was begun: its pairs are in the checkpoint
        "checkpoint:3",
        "save:1",  # all is trained, half is written
    )
    assert killed["resumed"] >= 5
    for name in ("steps", "samples", "evaluations", "counts"):
        assert killed[name] == whole[name]
    assert killed["files"] == whole["files"]


def test_killed_from_outside_it_ends_the_same(train: Train) -> None:
    whole = train("alone", "single")
    killed = train("struck", "single", *(f"written:{count}" for count in (1, 2, 1)))
    assert killed["resumed"] == 3
    for name in ("steps", "samples", "evaluations", "counts"):
        assert killed[name] == whole[name]
    assert killed["files"] == whole["files"]
