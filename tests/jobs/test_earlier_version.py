"""Job folders of version 0.1."""

import json
import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.errors import JobError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs.candidates import candidates
from entail.jobs.jobs import Jobs
from entail.jobs.locks import acquire
from entail.jobs.record import Job
from tests.jobs.rows import rewrite

EARLIER = Path(__file__).parents[1] / "fixtures" / "installation" / "jobs"


def test_jobs_of_version_0_1(jobs: Jobs, run: Callable[[Job], Job]) -> None:
    shutil.copytree(EARLIER, jobs.folder)
    by_name = {job.name: job for job in jobs.jobs()}
    assert {name: (job.state, job.status.ending) for name, job in by_name.items()} == {
        "done": ("done", None),
        "failed": ("failed", "diverged"),
        "cancelled": ("cancelled", "cancelled"),
        "stopped": ("interrupted", "killed"),
        "waiting": ("queued", None),
    }
    assert jobs.unreadable() == {}
    assert by_name["cancelled"].cancelled_by == "Bob"
    assert [job.id for job in jobs.queued()] == [by_name["waiting"].id]
    done = by_name["done"]
    assert done.warnings == ("it only wanders",)
    assert PairedComparison.from_json(done.evaluation).verdict == "better"
    assert [candidate.name for candidate in candidates(jobs)] == ["done"]
    steps = [event["step"] for event in jobs.list_events(done.id) if event["kind"] == "step"]
    assert steps[-1] == 5
    assert "DivergedError" in jobs.log_tail(by_name["failed"].id)
    assert run(by_name["waiting"]).state == "done"
    # It continues from the checkpoint of the earlier version.
    resumed = jobs.resume(by_name["stopped"].id)
    assert resumed.status.attempt == 1
    rewrite(jobs, resumed.id, "spec", lambda spec: spec["config"].update(trouble="none"))
    ended = run(jobs.job(resumed.id))
    assert (ended.state, ended.status.attempt) == ("done", 2)
    assert ended.result["begun_at"] == 2


@pytest.mark.parametrize("part", ["config", "source"])
def test_a_job_with_a_field_that_no_longer_exists(
    jobs: Jobs, submit: Callable[..., Job], run: Callable[[Job], Job], run_json: Any, part: str
) -> None:
    done, failed = run(submit("done")), run(submit("failed", trouble="nan"))
    for job in (done, failed):
        rewrite(jobs, job.id, "spec", lambda spec: spec[part].update(gone=3, unused=None))
    assert [job.state for job in jobs.jobs()] == ["failed", "done"]
    assert run_json("jobs", "show", done.id)["result"] == done.result
    with pytest.raises(JobError, match="gone"):
        jobs.resume(failed.id)
    assert jobs.job(failed.id).state == "failed"


def test_folders_are_read_once_and_stay(jobs: Jobs) -> None:
    shutil.copytree(EARLIER, jobs.folder)
    ids = {path.name for path in jobs.folder.glob("2*")}
    files = {path: path.read_bytes() for path in jobs.folder.rglob("*") if path.is_file()}
    assert {job.id for job in jobs.jobs()} == ids
    for file, content in files.items():
        name = "imported.json" if file.name == "spec.json" else file.name
        assert file.with_name(name).read_bytes() == content
    gone = next(job for job in jobs.jobs() if job.name == "done")
    jobs.state.delete_job(gone.id)
    assert {job.id for job in Jobs().jobs()} == ids - {gone.id}


def test_a_folder_that_cannot_be_read_is_listed_and_can_be_deleted(jobs: Jobs) -> None:
    shutil.copytree(EARLIER, jobs.folder)
    (damaged, *_) = sorted(jobs.folder.glob("2*"))
    (damaged / "status.json").write_text("{", encoding="utf-8")
    assert len(jobs.jobs()) == 4
    assert list(jobs.unreadable()) == list(Jobs().unreadable()) == [damaged.name]
    jobs.delete(damaged.name)
    assert jobs.unreadable() == {}
    assert not damaged.exists()


def test_a_job_that_an_earlier_version_trains_is_read_when_it_has_ended(jobs: Jobs) -> None:
    shutil.copytree(EARLIER, jobs.folder)
    folder = next(path.parent for path in jobs.folder.glob("2*/spec.json") if "waiting" in path.read_text())
    status = json.loads((folder / "status.json").read_text())
    status |= {"state": "running", "attempt": 1, "host": platform.node(), "worker": 1}
    (folder / "status.json").write_text(json.dumps(status))
    lock = acquire(folder / "lock")
    assert lock is not None
    assert (len(jobs.jobs()), list(jobs.unreadable())) == (4, [folder.name])
    os.close(lock)
    lost = jobs.job(folder.name)
    assert (lost.state, lost.status.ending) == ("interrupted", "lost_worker")
    assert Jobs().resume(folder.name).state == "queued"
