"""Training in two processes that `torchrun` starts on this machine, by gloo."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from entail.training.loop.distributed import average, from_first, world

RANKS = Path(__file__).with_name("ranks.py")


def test_one_process_needs_no_group() -> None:
    assert world() == (0, 1)
    assert from_first(lambda: (1, "as it is")) == (1, "as it is")
    tensor = torch.ones(2)
    average([tensor], size=1)
    assert tensor.tolist() == [1, 1]


def test_two_processes_train_one_encoder_and_resume(
    grove: dict[str, Any], tiny_home: Path, tmp_path: Path
) -> None:
    trees, facts = tmp_path / "trees.jsonl", tmp_path / "facts.txt"
    trees.write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    facts.write_text("\n".join(grove["facts"]), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*command, str(RANKS), str(trees), str(facts), str(tmp_path)],
        env=environment | {"OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    lines = (line for line in done.stderr.splitlines() if "Extension modules" not in line)
    assert done.returncode == 0, "\n".join(lines)[-8000:]
    first, second = (json.loads((tmp_path / f"rank-{rank}.json").read_text("utf-8")) for rank in (0, 1))
    for name in ("weights", "evaluations", "samples", "counts", "steps"):
        assert first["whole"][name] == second["whole"][name]
        assert first["resumed"][name] == second["resumed"][name] == first["whole"][name]
    assert len(first["whole"]["samples"]) == 2
    # The first evaluates and reports, the second waits until the encoder is saved.
    assert (first["evaluated"], second["evaluated"]) == (6, 0)
    assert (first["whole"]["events"], second["whole"]["events"]) == (7, 0)
    assert second["whole"]["saved"]
    assert "after step 3" in first["error"] == second["error"]
    assert first["resumed"]["resumed"] == 1
    # The command line prints once.
    assert first["code"] == second["code"] == 0
    assert json.loads(first["out"])["name"] == "mine"
    assert second["out"] == ""
    assert first["bars"] > 0 == second["bars"]
