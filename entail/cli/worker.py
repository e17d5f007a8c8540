"""``entail worker``."""

from __future__ import annotations

from typing import Annotated

import typer

from entail.cli.console import Report, reports

app = typer.Typer()


@app.command()
@reports
def worker(
    jobs: Annotated[int, typer.Option(min=1, help="How many jobs to train at a time.", metavar="N")] = 1,
    idle: Annotated[
        float | None,
        typer.Option(
            min=0, help="End after so many seconds without a job; default: never.", metavar="SECONDS"
        ),
    ] = None,
) -> Report:
    """Train what is queued, one after another; stop it with Ctrl+C.

    There is one on a machine. What trains when it is stopped writes a checkpoint and can be resumed.
    """
    from entail.jobs.jobs import Jobs
    from entail.jobs.worker import work

    if not work(Jobs(), idle=idle, at_once=jobs):
        text = "there is a worker on this machine already"
        return Report(data={"worked": False}, text=text)
    return Report(data={"worked": True}, text="stopped")
