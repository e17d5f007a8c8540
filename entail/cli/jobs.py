"""``entail jobs ...`` and ``entail submit ...``: trainings in the queue of a worker."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, command, login_name, reports, table
from entail.cli.options import Device, options_of, settings_for
from entail.training.method import Method, methods

if TYPE_CHECKING:
    from entail.jobs.record import Job

app = typer.Typer()
group = typer.Typer(name="jobs", help="Submitted trainings: list, watch, cancel, resume, delete.")
submit = typer.Typer(name="submit", help="Queue a training for a worker.")
app.add_typer(group)
app.add_typer(submit)

JobId = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job, or enough of its beginning.")]

_POLL = 0.5


@command(group, "list")
def list_jobs() -> Report:
    """List all jobs, newest first, and the workers."""
    from entail.jobs.jobs import Jobs

    jobs = Jobs()
    all_jobs, workers = jobs.jobs(), [worker for worker in jobs.workers() if worker.alive]
    rows = [[job.id, job.spec.method, job.name, _state(job), job.spec.by, _clock(job)] for job in all_jobs]
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


@command(group)
def show(job: JobId) -> Report:
    """Show the state, the settings and the result of a job."""
    from entail.evaluation.retrieval.paired import PairedComparison
    from entail.jobs.jobs import Jobs
    from entail.training.method import method

    jobs = Jobs()
    record = jobs.job(job)
    rows: list[list[Any]] = [
        ["job", record.id],
        ["encoder", record.name],
        ["method", record.spec.method],
        ["data", record.spec.about],
        ["submitted by", f"{record.spec.by}, {record.spec.at.astimezone():%Y-%m-%d %H:%M}"],
        ["state", _state(record)],
        ["time", _clock(record)],
        ["attempts", str(record.status.attempt)],
        ["on disk", f"{jobs.disk(record.id) / 2**20:,.1f} MiB"],
    ]
    rows.extend(
        [name, str(value)]
        for name, value in method(record.spec.method).list_changes(record.spec.config).items()
    )
    parts = [table(["field", "value"], rows)]
    if record.progress:
        parts.append(str(record.progress))
    if record.status.what:
        parts.append(f"{record.status.what}\nwhat to do: {record.status.todo}")
    if record.evaluation:
        parts.append(str(PairedComparison.from_json(record.evaluation)))
    parts.extend(f"warning: {warning}" for warning in record.warnings)
    return Report(data=record.to_json() | {"disk": jobs.disk(record.id)}, text="\n\n".join(parts))


@command(group)
def log(
    job: JobId,
    lines: Annotated[int, typer.Option(min=1, help="Number of lines from the end.", metavar="N")] = 40,
    follow: Annotated[bool, "Wait until the job ends, with its output on stderr."] = False,
) -> Report:
    """Show the log of a job."""
    from entail.jobs.jobs import Jobs

    jobs = Jobs()
    record = jobs.job(job)
    if follow:
        offset, last = 0, ""
        while record.open:
            text, offset = jobs.log_after(record.id, offset)
            progress = str(record.progress or _state(record))
            sys.stderr.write(text + (f"{progress}\n" if progress != last else ""))
            last = progress
            time.sleep(_POLL)
            record = jobs.job(record.id)
    tail = jobs.log_tail(record.id, lines=lines)
    return Report(
        data={"id": record.id, "state": record.state, "log": tail}, text=f"{tail}\n{_state(record)}".strip()
    )


@command(group)
def cancel(job: JobId) -> Report:
    """Cancel a job; it can be resumed from its last checkpoint."""
    from entail.jobs.jobs import Jobs

    return _report(Jobs().cancel(job, by=login_name()))


@command(group)
def resume(job: JobId) -> Report:
    """Queue a cancelled, failed or interrupted job again, from its last checkpoint."""
    from entail.jobs.jobs import Jobs

    return _report(Jobs().resume(job))


@command(group)
def delete(job: JobId) -> Report:
    """Delete a job with its checkpoints and log; the model it trained stays."""
    from entail.jobs.jobs import Jobs

    jobs = Jobs()
    job_id, size = jobs.job(job).id, jobs.disk(job)
    jobs.delete(job_id)
    return Report(data={"deleted": job_id, "bytes": size}, text=f"deleted {job_id} ({size / 2**20:,.1f} MiB)")


def _report(job: Job) -> Report:
    return Report(data=job.to_json(), text=f"job {job.id}: {_state(job)}")


def _state(job: Job) -> str:
    if job.queue_position:
        return f"queued, number {job.queue_position}"
    if job.state == "cancelling" and job.cancelled_by:
        return f"cancel requested by {job.cancelled_by}"
    return f"{job.state} ({job.status.ending})" if job.status.ending else job.state


def _clock(job: Job) -> str:
    return f"{job.seconds:,.0f} s" if job.seconds else "-"


def _submission(method: Method) -> Callable[..., None]:
    @reports
    @options_of(method.config)
    @options_of(method.source, into="source", panel="Data")
    def run(
        context: typer.Context,
        *,
        out: Annotated[str, "Name of the model, a new folder under models/.", "NAME"],
        by: Annotated[str | None, "Author of the job; default: the login name."] = None,
        device: Device = None,
        config: Any,  # noqa: ANN401 - the method's own
        source: Any,  # noqa: ANN401 - the method's own
    ) -> Report:
        from entail.jobs.jobs import Jobs

        jobs = Jobs()
        name = out.removeprefix(f"{jobs.settings.models_dir.name}/")
        settings = settings_for(method, config, source, context)
        job = jobs.submit(method.name, settings, source, name=name, by=by or login_name(), device=device)
        state = f"queued as number {job.queue_position}" if job.queue_position else job.state
        return Report(
            data=job.to_json(),
            text=f"job {job.id}: {job.name} from {job.spec.about}, {state}\n"
            f"`entail jobs show {job.id}` shows its progress",
        )

    return run


for _name, _method in methods().items():
    submit.command(_name, help=f"{_method.title or _name}. See `entail train`.")(_submission(_method))


@submit.callback()
def _keep_group() -> None:
    """Keep one command a command of the group."""
