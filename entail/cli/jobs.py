"""``entail jobs``: queued trainings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from entail.cli.console import Report, command, describe, login_name, table
from entail.errors import SettingsError

if TYPE_CHECKING:
    from entail.jobs.jobs import Jobs
    from entail.jobs.record import Job

app = typer.Typer()

Action = Literal["list", "show", "cancel", "resume", "delete"]


@command(app)
def jobs(
    action: Annotated[
        Action,
        typer.Argument(
            help="list: all jobs and workers; show: state, settings and result; cancel; resume: queue again, "
            "from the last checkpoint; delete: the job with its checkpoints and log, never its model."
        ),
    ] = "list",
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="Id of the job, or enough of its beginning.")
    ] = None,
) -> Report:
    """List, show, cancel, resume or delete queued trainings; `entail logs JOB` shows their output."""
    from entail.jobs.jobs import Jobs

    jobs = Jobs()
    if (action == "list") != (job is None):
        raise SettingsError(f"entail jobs {action}: expected {'no' if job else 'the id of a'} job")
    if job is None:
        return _list(jobs)
    match action:
        case "show":
            return _show(jobs, jobs.job(job))
        case "delete":
            job_id, size = jobs.job(job).id, jobs.disk(job)
            jobs.delete(job_id)
            text = f"deleted {job_id} ({size / 2**20:,.1f} MiB)"
            return Report(data={"deleted": job_id, "bytes": size}, text=text)
        case _:
            done = jobs.cancel(job, by=login_name()) if action == "cancel" else jobs.resume(job)
            return Report(data=done.to_json(), text=f"job {done.id}: {_state(done)}")


def _list(jobs: Jobs) -> Report:
    all_jobs, workers = jobs.jobs(), [worker for worker in jobs.workers() if worker.alive]
    rows = [
        [job.id, job.spec.method, job.name, _state(job), job.spec.by, f"{job.seconds:,.0f} s"]
        for job in all_jobs
    ]
    parts = [table(["job", "method", "encoder", "state", "by", "time"], rows) if rows else "no jobs"]
    parts.extend(f"{job_id}: {why}" for job_id, why in jobs.unreadable().items())
    if workers:
        parts.append("workers: " + ", ".join(f"{w.host} (process {w.pid})" for w in workers))
    elif any(job.state == "queued" for job in all_jobs):
        parts.append("no worker is running: start one with `entail worker`")
    data = {
        "jobs": [job.to_json() for job in all_jobs],
        "workers": [{"host": w.host, "pid": w.pid, "jobs": w.jobs, "at": list(w.at)} for w in workers],
        "unreadable": jobs.unreadable(),
    }
    return Report(data=data, text="\n\n".join(parts))


def _show(jobs: Jobs, job: Job) -> Report:
    from entail.evaluation.retrieval.paired import PairedComparison
    from entail.training.method import methods

    method = methods().get(job.spec.method)
    disk = jobs.disk(job.id)
    about = {
        "job": job.id,
        "encoder": job.name,
        "method": job.spec.method,
        "data": job.spec.about,
        "submitted by": f"{job.spec.by}, {job.spec.at.astimezone():%Y-%m-%d %H:%M}",
        "state": _state(job),
        "time": f"{job.seconds:,.0f} s",
        "attempts": job.status.attempt,
        "on disk": f"{disk / 2**20:,.1f} MiB",
        **(method.list_changes(job.spec.config) if method is not None else job.spec.config),
        "progress": str(job.progress or ""),
        "error": job.status.what,
        "what to do": job.status.todo,
        "warnings": list(job.warnings),
    }
    comparison = f"\n\n{PairedComparison.from_json(job.evaluation)}" if job.evaluation else ""
    return Report(data=job.to_json() | {"disk": disk}, text=describe(about) + comparison)


def _state(job: Job) -> str:
    if job.queue_position:
        return f"queued, number {job.queue_position}"
    if job.state == "cancelling" and job.cancelled_by:
        return f"cancel requested by {job.cancelled_by}"
    return f"{job.state} ({job.status.ending})" if job.status.ending else job.state
