"""Trainings that fail as they do in practice, and their state on the Models page."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from entail.aeenc.task import AeencTask
from entail.jobs.child import Attempt, finish
from entail.jobs.folder import JobFolder
from entail.jobs.record import Job
from entail.jobs.supervision import run_job
from entail.ui.shared.resources import jobs
from tests.ui.conftest import said

FIFTH = Path(__file__).parents[1] / "jobs" / "fifth.py"
SMALL = {
    **{"base": "tiny", "rank": 2, "epochs": 20, "rounds": 0, "k": 4, "precision": "fp32"},
    **{"batch_size": 16, "learning_rate": 0.02},
}


class Ended:
    """What trained, within this process."""

    pid = 0

    def __init__(self, code: int) -> None:
        self.code = code

    def poll(self) -> int:
        return self.code


@pytest.fixture
def installed(fifth: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes that train know the method that this one knows."""
    about = tmp_path / "site" / "fifth-1.0.dist-info"
    about.mkdir(parents=True)
    shutil.copy(FIFTH, about.parent / "fifth.py")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fifth\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[entail.methods]\nfifth = fifth:FIFTH\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(about.parent))


@pytest.fixture
def aeenc(models: Path, tiny_models: Path, tmp_path: Path, grove: dict[str, Any]) -> Callable[..., Job]:
    """Return what queues a training of AE-Enc on the smallest of models."""
    (models / "tiny").symlink_to(tiny_models / "tiny", target_is_directory=True)
    (tmp_path / "trees.jsonl").write_text("\n".join(map(json.dumps, grove["rows"])), encoding="utf-8")
    (tmp_path / "facts.txt").write_text("\n".join(grove["facts"]), encoding="utf-8")
    source = {"corpus": str(tmp_path / "facts.txt"), "trees": str(tmp_path / "trees.jsonl")}

    def queue(name: str, **settings: Any) -> Job:
        return jobs().submit("aeenc", {**SMALL, **settings}, source, name=name, by="Bob")

    return queue


def in_a_process(trouble: str) -> Job:
    """Return a job of the method that needs no torch, after a worker was at it with a process of its own."""
    job = jobs().submit("fifth", {"trouble": trouble}, {}, name=trouble, by="Bob")
    run_job(jobs().folder_of(job.id), stopping=lambda: False)
    return jobs().job(job.id)


def here(job: Job) -> Job:
    """Return a job after a worker was at it, all that its process does done in this one."""

    def spawn(folder: JobFolder, attempt: int, lock: int, pipe: int) -> Ended:
        return Ended(finish(folder, Attempt(folder.path, attempt, checkpoint_seconds=0.0).run()))

    run_job(jobs().folder_of(job.id), stopping=lambda: False, spawn=spawn)
    return jobs().job(job.id)


def no_room(*args: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def too_much(self: AeencTask, *args: object) -> None:
    import torch

    torch.empty(1 << 50)  # no stand-in for what torch raises: it is asked for more than there is


def primary(app: AppTest) -> set[str]:
    """Return which of the things to do comes first."""
    return {key for key in ("resume_job", "like_job") if app.button(key=key).proto.type == "primary"}


@pytest.mark.usefixtures("installed")
def test_each_ends_as_it_really_does_and_the_page_says_what_to_do(
    view: Callable[..., AppTest], aeenc: Callable[..., Job], models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = {
        in_a_process("killed").id: (
            *("Interrupted", "killed from outside (signal 9, SIGKILL)"),
            *("resume it to continue from its last checkpoint", "resume_job"),
        ),
        in_a_process("memory").id: (
            *("Failed", "the memory ran out", "submit it again with a smaller batch_size", "resume_job"),
        ),
        here(aeenc("nan", learning_rate=1e30)).id: (
            *(
                "Failed",
                "the loss became nan at step",
                "submit it again with a lower learning_rate",
                "like_job",
            ),
        ),
    }
    with monkeypatch.context() as tight:
        tight.setattr(AeencTask, "loss", too_much)
        large = here(aeenc("large"))
    ends[large.id] = "Failed", "can't allocate memory", "submit it again with a smaller", "resume_job"
    with monkeypatch.context() as tight:
        tight.setattr("safetensors.torch.save_file", no_room)
        full = here(aeenc("full"))
    ends[full.id] = "Failed", "No space left on device", "free space", "resume_job"

    app = view()
    for job_id, (_, what, *_) in ends.items():
        job = jobs().job(job_id)
        assert what in str(job.status.what)
        assert str(job.status.what) in said(app), "the list says it, too"
        assert not (models / job.name).exists()
    for job_id, (state, what, todo, first) in ends.items():
        app.query_params["job"] = job_id
        app.run()
        assert not app.exception
        (told,) = (str(box.value).replace("\\", "") for box in [*app.error, *app.info])
        assert told.startswith(f"**{state}")
        assert what in told
        assert todo in told.partition("**What to do:**")[2]
        assert primary(app) == {first}
    # Where room was made, what it says to do does it.
    app.button(key="resume_job").click().run()
    assert here(full).state == "done"
    assert (models / "full" / "entail.json").is_file()
