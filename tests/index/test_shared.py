"""Vectors that several processes map from one file."""

import os
import subprocess
import sys

import numpy as np
import pytest

from entail.index import shared
from entail.index.engines import PremiseVectors, load_engine

COUNT, DIMENSION = 40_000, 64

CODE = """
import sys
import numpy as np, psutil
from entail.index.engines import load_engine
from entail.index.shared import share_vectors
from tests.index.test_shared import premises, vectors

share_vectors(2)
index = load_engine(sys.argv[1]).build(premises())
print(index.search(vectors()[:3], k=5).positions.tolist(), index.size_bytes, flush=True)
sys.stdin.readline()
mapped = [m for m in psutil.Process().memory_maps() if m.path.endswith(".faiss")]
print(*(sum(getattr(m, name) for m in mapped) for name in ("rss", "pss", "private_dirty")), flush=True)
sys.stdin.readline()
"""


def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(COUNT, DIMENSION)).astype(np.float32)


def premises() -> PremiseVectors:
    numbers = np.arange(COUNT, dtype=np.uint64)
    return PremiseVectors("stub@1", DIMENSION, numbers, vectors().__getitem__)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="vectors are not shared on Windows")
@pytest.mark.parametrize("engine", ["flat", "panorama"])
def test_processes_hold_the_vectors_once(engine: str) -> None:
    alone = load_engine(engine).build(premises())
    expected = alone.search(vectors()[:3], k=5).positions.tolist()
    assert not shared.shared_folder().exists(), "a single process writes no file"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CODE, engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            positions, _, size = process.stdout.readline().rpartition(" ")
            assert positions == str(expected)
            assert alone.size_bytes - int(size) == pytest.approx(vectors().nbytes / 2, rel=0.05)  # its part
        files = list(shared.shared_folder().iterdir())
        assert len(files) == 1
        size = COUNT * DIMENSION * 4
        for process in processes:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            rss, pss, dirty = map(int, process.stdout.readline().split())
            assert rss > 0.9 * size
            assert pss < 0.6 * size
            assert dirty == 0
        shared.prune_shared()
        assert files[0].exists(), "a file in use stays"
        processes[0].kill()
        processes[1].communicate("\n")
        processes[0].wait()
        shared.prune_shared()
        assert not files[0].exists()
    finally:
        for process in processes:
            process.kill()
            process.communicate()
