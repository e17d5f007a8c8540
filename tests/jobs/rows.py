"""Rows of jobs, changed as another process or version may have written them."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from entail.jobs.handle import columns_of
from entail.jobs.jobs import Jobs
from entail.trees.store import state


def rewrite(jobs: Jobs, job_id: str, column: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a record of a job."""
    row = jobs.handle(job_id).row
    content = json.loads(getattr(row, column))
    change(content)
    assert jobs.state.change_job(row, **{column: json.dumps(content)})


def damage(jobs: Jobs, job_id: str, column: str, text: str = "{") -> None:
    """Replace a record of a job by a text."""
    assert jobs.state.change_job(jobs.handle(job_id).row, **{column: text})


def set_status(jobs: Jobs, job_id: str, *, machine: str | None = None, **changes: Any) -> None:
    """Change the status of a job; the lease is of a `machine` that was just heard of."""
    handle = jobs.handle(job_id)
    status = replace(handle.status, **changes)
    assert jobs.state.change_job(handle.row, **columns_of(status), machine=machine)
    if machine is not None:
        jobs.state.beat(job_id, status.attempt)


def silence(jobs: Jobs, job_id: str) -> None:
    """Let the last heartbeat of a job be long ago."""
    with jobs.state.writing() as connection:
        connection.execute(sa.update(state._jobs).where(state._jobs.c.id == job_id).values(beat=0.0))
