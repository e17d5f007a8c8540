"""An installation with the method `fifth` of another package, and no models.

Trainings are forks of this process, which start at once; test_worker starts real ones.
"""

import contextlib
import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from entail.encoders.catalogue import model_folder
from entail.jobs import child
from entail.jobs.handle import JobHandle
from entail.jobs.jobs import Jobs
from entail.jobs.record import Job
from entail.jobs.worker import run_job
from entail.training import method

Run = Callable[[Job], Job]
Submit = Callable[..., Job]


class Forked:
    """A forked process, as supervision needs it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        done, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if done else None


def fork_child(job: JobHandle, attempt: int, lock: int, pipe: int) -> Forked:
    """Start the training process by a fork."""
    pid = os.fork()
    if pid:
        return Forked(pid)
    os.setsid()
    # As subprocess does: the worker alone holds the end of the pipe that says that it lives.
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - numbers, not files
        if descriptor > 2 and descriptor not in (lock, pipe):
            with contextlib.suppress(OSError):
                os.close(descriptor)
    sys.stdout = sys.stderr = job.log.open("a", encoding="utf-8", buffering=1)
    os._exit(child.main([job.id, str(attempt), str(pipe)]))


def run_to_its_end(jobs: Jobs, job: Job) -> Job:
    """Run a job as a worker does."""
    run_job(jobs.handle(job.id), stopping=lambda: False, spawn=fork_child)
    return jobs.job(job.id)


def weights(name: str) -> bytes:
    """Return the weights of a model."""
    return (model_folder(name) / "model.safetensors").read_bytes()


def clear_methods() -> None:
    method.methods.cache_clear()
    method._load_methods.cache_clear()
    importlib.invalidate_caches()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Another package, installed here and in every child."""
    folder = tmp_path / "site"
    about = folder / "fifth-1.0.dist-info"
    about.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("fifth.py"), folder / "fifth.py")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fifth\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[entail.methods]\nfifth = fifth:FIFTH\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    clear_methods()
    yield folder
    sys.modules.pop("fifth", None)
    clear_methods()


@pytest.fixture
def jobs(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """The jobs of an installation that starts no worker."""
    (tmp_path / "models").mkdir()
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ENTAIL_WORKER", "none")
    monkeypatch.delenv("ENTAIL_DATABASE_URL", raising=False)
    monkeypatch.delenv("ENTAIL_ARTIFACTS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return Jobs()


@pytest.fixture
def submit(jobs: Jobs) -> Submit:
    def submitted(name: str = "mine", **config: Any) -> Job:
        return jobs.submit("fifth", config, {}, name=name, by="Ann")

    return submitted


@pytest.fixture
def run(jobs: Jobs) -> Run:
    """Return a function that runs a job to its end, as a worker does."""
    return partial(run_to_its_end, jobs)
