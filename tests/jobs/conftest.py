"""An installation with a fifth method in it, and nothing in `models/`."""

import importlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from entail.jobs.jobs import Jobs
from entail.jobs.record import Job
from entail.jobs.supervision import run_job
from entail.training import method

Run = Callable[[Job], Job]
Submit = Callable[..., Job]


def forget() -> None:
    method.methods.cache_clear()
    method._found.cache_clear()
    importlib.invalidate_caches()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of somebody else's, installed here and in every child."""
    folder = tmp_path / "site"
    about = folder / "fifth-1.0.dist-info"
    about.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("fifth.py"), folder / "fifth.py")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fifth\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[entail.methods]\nfifth = fifth:FIFTH\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    forget()
    yield folder
    sys.modules.pop("fifth", None)
    forget()


@pytest.fixture
def jobs(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """The jobs of an installation in which nobody starts a worker."""
    (tmp_path / "models").mkdir()
    monkeypatch.setenv("ENTAIL_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ENTAIL_WORKER", "none")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return Jobs()


@pytest.fixture
def submit(jobs: Jobs) -> Submit:
    def submitted(name: str = "mine", **config: Any) -> Job:
        return jobs.submit("fifth", config, {}, name=name, by="Ann")

    return submitted


@pytest.fixture
def run(jobs: Jobs) -> Run:
    """Return what a worker does with one job: a process that trains, to its end."""

    def done(job: Job) -> Job:
        run_job(jobs.folder_of(job.id), stopping=lambda: False)
        return jobs.job(job.id)

    return done


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], None]:
    """Return what waits for something; its limit is for a test that failed, not for a slow machine."""

    def wait(condition: Callable[[], Any]) -> None:
        for _ in range(1200):
            if condition():
                return
            time.sleep(0.05)
        raise AssertionError("it never came")

    return wait
