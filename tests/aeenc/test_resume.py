"""A training that is killed and resumed has the weights of an uninterrupted one, bit for bit."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from tests.aeenc.killed import train

KILLED = str(Path(__file__).with_name("killed.py"))


def test_a_killed_training_resumes_bit_for_bit(home: Path, grove: dict[str, Any], tmp_path: Path) -> None:
    files = [str(tmp_path / "trees.jsonl"), str(tmp_path / "facts.txt")]
    Path(files[0]).write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    Path(files[1]).write_text("\n".join(grove["facts"]), encoding="utf-8")
    whole = train(*files, home / "whole")
    # In the first sampling, of which nothing is kept; beside its place; in the second round; half saved.
    moments = ("sample:1", "checkpoint:1", "step:6", "save:1")
    done = subprocess.run(
        [sys.executable, KILLED, *files, str(home / "killed"), *moments],
        env={**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    killed = json.loads(done.stdout.splitlines()[-1])
    assert killed.pop("resumed") >= 2
    assert killed == json.loads(json.dumps({name: whole[name] for name in killed}))
    contents = [
        {
            path.relative_to(home / name): path.read_bytes()
            for path in (home / name).rglob("*")
            if path.is_file() and path.name != "README.md"  # the card has the folder's name
        }
        for name in ("whole", "killed")
    ]
    assert contents[0] == contents[1]
    assert not [path.name for path in home.iterdir() if path.name.startswith(".")]
