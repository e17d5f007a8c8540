"""Commands that start and maintain an installation: ``entail app``, ``serve``, ``backup``, ``doctor`` ..."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from entail.cli.console import Report, command, describe, progress_bar, table
from entail.errors import DatabaseError

app = typer.Typer()


@command(app, "app")
def serve_app(
    port: Annotated[int, typer.Option(help="Port of the app.", min=0, max=65535)] = 8501,
    address: Annotated[str | None, "Address to listen on; default: all."] = None,
    api: Annotated[bool, "Also serve the HTTP API under /api."] = False,
) -> Report:
    """Start the app; stop it with Ctrl+C."""
    from entail.runtime.shared_metrics import share_metrics

    share_metrics()
    from entail.ui.launch import launch

    launch(port=port, address=address, api=api)
    return Report(data={"stopped": True}, text="stopped")


@command(app)
def serve(
    host: Annotated[str, "Address to listen on."] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8600,
    encoder: Annotated[
        list[str] | None,
        "Encoder to serve, loaded at the start; repeat for more.  [default: all installed]",
        "NAME",
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that answer.", metavar="N")] = 1,
) -> Report:
    """Serve the HTTP API: encode, search, health, info; stop it with Ctrl+C.

    Clients must send ENTAIL_SERVE_TOKEN if it is set. /openapi.json describes all requests.
    """
    from entail.runtime.shared_metrics import share_metrics

    share_metrics()
    from entail.serving.app import serve as run

    run(host=host, port=port, encoders=encoder or (), workers=workers)
    return Report(data={"stopped": True}, text="stopped")


@command(app)
def worker(
    jobs: Annotated[int, typer.Option(min=1, help="Jobs to train at the same time.", metavar="N")] = 1,
    idle: Annotated[
        float | None,
        typer.Option(min=0, help="Stop after this time without a job; default: never.", metavar="SECONDS"),
    ] = None,
) -> Report:
    """Train queued jobs; stop it with Ctrl+C.

    One worker runs per machine. A job that is running when the worker stops writes a checkpoint and can be
    resumed.
    """
    from entail.jobs.jobs import Jobs
    from entail.jobs.worker import work

    if not work(Jobs(), idle=idle, at_once=jobs):
        return Report(data={"worked": False}, text="a worker already runs on this machine")
    return Report(data={"worked": True}, text="stopped")


@command(app)
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as entail.zip.")],
    overwrite: Annotated[bool, "Replace an existing FILE."] = False,
) -> Report:
    """Back up trees, corpora, authors, jobs and models into one file.

    The backup holds the models of the data folder, and no cached vectors.
    """
    from entail.operations.storage import in_words
    from entail.trees.installation.backup import backup

    with progress_bar() as progress:
        done = backup(file, overwrite=overwrite, progress=progress)
    return Report(
        data={"file": str(done.file), "bytes": done.size, "rows": dict(done.rows), "models": done.models},
        text=f"wrote {_counts(done.rows)} to {done.file} ({in_words(done.size)})",
    )


@command(app)
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Backup written by `entail backup`.")],
    replace: Annotated[bool, "Replace existing data; it is backed up first."] = False,
) -> Report:
    """Restore a backup into an empty database, all or nothing.

    The models of the backup are restored too.
    """
    from entail.trees.installation.backup import restore

    with progress_bar() as progress:
        done = restore(file, replace=replace, progress=progress)
    data = {
        "file": str(file),
        "rows": dict(done.rows),
        "models": done.models,
        "before": str(done.before) if done.before else None,
        "damaged": str(done.damaged) if done.damaged else None,
        "problems": list(done.problems),
        "revoked": done.revoked,
    }
    notes = {
        "the previous data is in": data["before"],
        "the damaged database was moved to": data["damaged"],
        "revoked read-only links of the backup": done.revoked or None,
        "problems": data["problems"],
    }
    return Report(data=data, text=f"restored {_counts(done.rows)} from {file}\n{describe(notes)}".rstrip())


@command(app)
def doctor() -> Report:
    """Check the installation and report problems.

    Reports versions, device, memory, disk, jobs and the database. The exit code is 1 if there is a problem.
    """
    from entail.jobs.jobs import Jobs
    from entail.operations.doctor import diagnose
    from entail.operations.storage import in_words, measure_storage
    from entail.runtime.machine import inspect_machine

    with progress_bar() as progress:
        diagnosis = diagnose(progress=progress)
    machine, room, jobs = inspect_machine(), measure_storage(), Jobs()
    waiting, workers = 0, []
    with contextlib.suppress(DatabaseError):  # among the problems
        if "rows" in diagnosis.database:  # else it may need a migration, which this is not to begin
            waiting, workers = len(jobs.queued()), [worker for worker in jobs.workers() if worker.alive]
    database = diagnosis.database
    rows: dict[str, Any] = {
        **diagnosis.versions,
        "device": diagnosis.device,
        **{gpu.name: f"{in_words(gpu.total - gpu.used)} free" for gpu in machine.gpus},
        "memory": f"{in_words(machine.memory_free)} of {in_words(machine.memory)} free",
        "data folder": f"{room.folder} ({in_words(room.free)} free)",
        **{use.what: in_words(use.size) for use in room.kept},
        "jobs": f"{waiting} waiting, workers alive: {len(workers)}",
        "database": f"{database['url']}: {database['state']}",
    }
    if "rows" in database:
        rows["contents"] = f"revision {database['revision']}, {_counts(database['rows'])}"
    wrong = [f"PROBLEM: {problem}" for problem in diagnosis.problems] or ["no problems found"]
    since = [{"host": w.host, "pid": w.pid, "since": w.since.isoformat()} for w in workers]
    return Report(
        data={
            **diagnosis.to_json(),
            "machine": machine.to_json(),
            "room": room.to_json(),
            "jobs": {"waiting": waiting, "workers": since},
        },
        text="\n".join([describe(rows), "", *wrong]),
        ok=not diagnosis.problems,
    )


def _counts(rows: Mapping[str, int]) -> str:
    named = {
        "trees": ("tree", "trees"),
        "events": ("act", "acts"),
        "corpora": ("corpus", "corpora"),
        "premises": ("premise", "premises"),
    }
    return ", ".join(f"{rows[name]:,} {nouns[rows[name] != 1]}" for name, nouns in named.items())


@command(app)
def clean(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...",
            help="Kinds (vectors, checkpoints, leftovers, logs) or ids from the list.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, "Only list the items, with size and cost."] = False,
    all_of_it: Annotated[
        bool, typer.Option("--all", help="Also items that are likely to be needed soon.")
    ] = False,
) -> Report:
    """Remove files that entail can rebuild; without WHAT, list them.

    Never removes trees, corpora, models, backups or the settings of jobs. Only --all or an id removes the
    copy of models that a restore replaced.
    """
    from entail.jobs.jobs import Jobs
    from entail.operations.cleaning import clean, list_removable, select_removable
    from entail.operations.storage import in_words

    jobs = Jobs()
    items = list_removable(jobs)
    if what:
        items = select_removable(items, what, include_needed=all_of_it)
    if dry_run or not what:
        rows = [[item.id, in_words(item.size), item.what, item.cost] for item in items]
        text = table(["id", "size", "what", "cost"], rows) if rows else "nothing to remove"
        return Report(data={"removable": [item.to_json() for item in items]}, text=text)
    done = clean([item.id for item in items], jobs=jobs)
    lines = [f"removed {len(done.removed)}, {in_words(done.size)} freed"]
    lines += [f"kept {name}: {why}" for name, why in done.kept.items()]
    return Report(
        data={
            "removed": [item.to_json() for item in done.removed],
            "bytes": done.size,
            "kept": dict(done.kept),
        },
        text="\n".join(lines),
        ok=not done.kept,
    )


@command(app, "logs")
def show_logs(
    name: Annotated[str, typer.Argument(metavar="[app|worker|cli|JOB]", help="Log to show.")] = "app",
    lines: Annotated[int, typer.Option(min=1, help="Number of last lines.", metavar="N")] = 100,
) -> Report:
    """Show the end of a log, without secrets."""
    from entail.operations.logs import tail

    text = tail(name, lines=lines)
    return Report(data={"name": name, "text": text}, text=text or "the log is empty")
