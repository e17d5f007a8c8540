"""What `torchrun` starts: two processes on this machine, by gloo."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from entail.training.loop.distributed import average, from_first, world

RANKS = Path(__file__).with_name("ranks.py")
LEAVES = RANKS.with_name("leaves.py")


def torchrun(*arguments: str, home: Path, models: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")},
        "ENTAIL_MODELS_DIR": str(models),
        "ENTAIL_DATA_DIR": str(home / "data"),
        "ENTAIL_DEVICE": "cpu",
        "OMP_NUM_THREADS": "1",
        "PYTHONFAULTHANDLER": "1",  # a process that aborts says where it was
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [*command, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a broken run said, without the list of libraries that hides where a process was."""
    return "\n".join(line for line in done.stderr.splitlines() if "Extension modules" not in line)[-8000:]


@pytest.fixture(scope="module")
def files(grove: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grove")
    (folder / "trees.jsonl").write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    (folder / "facts.txt").write_text("\n".join(grove["facts"]), encoding="utf-8")
    return folder


def test_alone_it_is_the_plain_case() -> None:
    assert world() == (0, 1)
    assert from_first(lambda: (1, "as it is")) == (1, "as it is")
    tensor = torch.ones(2)
    average([tensor], size=1)
    assert tensor.tolist() == [1, 1]


def test_two_processes_train_one_encoder_and_resume(files: Path, tiny_models: Path, tmp_path: Path) -> None:
    names = (str(files / "trees.jsonl"), str(files / "facts.txt"), str(tmp_path))
    done = torchrun(str(RANKS), *names, home=tmp_path, models=tiny_models)
    assert done.returncode == 0, said(done)
    first, second = (
        json.loads((tmp_path / f"rank-{rank}.json").read_text(encoding="utf-8")) for rank in (0, 1)
    )
    for name in ("weights", "evaluations", "samples", "counts", "steps"):
        assert first["whole"][name] == second["whole"][name]
        assert first["resumed"][name] == second["resumed"][name] == first["whole"][name]
    assert len(first["whole"]["samples"]) == 2
    # The first evaluates and tells, the second waits until the encoder is there.
    assert (first["evaluated"], second["evaluated"]) == (10, 0)
    assert (first["whole"]["told"], second["whole"]["told"]) == (13, 0)
    assert second["whole"]["there"]
    assert first["said"] == second["said"] == "stopped on request after step 5; resume to go on"
    assert first["resumed"]["resumed"] == 1


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux tells the names of threads")
def test_who_leaves_takes_the_threads_of_the_group_along(tmp_path: Path) -> None:
    done = torchrun(str(LEAVES), home=tmp_path, models=tmp_path)
    assert done.returncode == 0, said(done)


def test_the_command_line_speaks_once(files: Path, tiny_models: Path, tmp_path: Path) -> None:
    options = {"corpus": files / "facts.txt", "trees": files / "trees.jsonl", "out": tmp_path / "mine"}
    given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    small = ["--base", "tiny", "--rank", "4", "--epochs", "1", "--k", "8", "--batch-size", "8"]
    done = torchrun(
        "-m",
        "entail",
        "train",
        "aeenc",
        *given,
        *small,
        "--json",
        "--progress",
        home=tmp_path,
        models=tiny_models,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)["name"] == "mine"
    assert (tmp_path / "mine" / "adapter_model.safetensors").is_file()
    assert done.stderr.count("training:   0%") == 1  # a bar is drawn at 0 once, and at 100 once or twice
