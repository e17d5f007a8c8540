"""Job folders of version 0.1."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.errors import JobError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs.candidates import candidates
from entail.jobs.jobs import Jobs
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
    assert done.evaluation is not None
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
    assert ended.result is not None
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
