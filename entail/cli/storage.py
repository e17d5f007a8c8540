"""``entail backup``, ``entail restore``, ``entail doctor``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from entail.cli.console import Report, progress_bar, reports, table

app = typer.Typer()

_ROOM = ("checkpoints of jobs", "backups", "logs of app and command line")


@app.command()
@reports
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, such as entail.zip.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace FILE if it is there.")] = False,
) -> Report:
    """Write everything into one file: trees, corpora, authors, models.

    The models are those in the data folder. Cached vectors are left out: they are made again.
    """
    from entail.trees.backup import backup

    with progress_bar() as progress:
        done = backup(file, overwrite=overwrite, progress=progress)
    return Report(
        data={"file": str(done.file), "bytes": done.size, "rows": dict(done.rows), "models": done.models},
        text=f"wrote {_counts(done.rows)} to {done.file} ({_size(done.size)})",
    )


@app.command()
@reports
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `entail backup` wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace what is there; a backup of it is written first.")
    ] = False,
) -> Report:
    """Fill an empty database from a backup: all or nothing.

    The models of the backup come back with it.
    """
    from entail.trees.backup import restore

    with progress_bar() as progress:
        done = restore(file, replace=replace, progress=progress)
    kept = [
        f"what was there before is in {done.before}" if done.before else "",
        f"the damaged database was moved to {done.damaged}" if done.damaged else "",
    ]
    return Report(
        data={
            "file": str(file),
            "rows": dict(done.rows),
            "models": done.models,
            "before": str(done.before) if done.before else None,
            "damaged": str(done.damaged) if done.damaged else None,
        },
        text="\n".join([f"restored {_counts(done.rows)} from {file}", *filter(None, kept)]),
    )


@app.command()
@reports
def doctor() -> Report:
    """Say what is installed, how it stands, and what is wrong.

    Versions, device, memory, disk, jobs, state of the database. The exit code is 1 where something is wrong.
    """
    from entail.jobs.jobs import Jobs
    from entail.operations.machine import look_at_machine
    from entail.operations.storage import look_at_room
    from entail.trees.doctor import diagnose

    with progress_bar() as progress:
        found = diagnose(progress=progress)
    machine, room, jobs = look_at_machine(), look_at_room(), Jobs()
    waiting, workers = len(jobs.queued()), [worker for worker in jobs.workers() if worker.alive]
    data, database = found.data, found.database
    gpus = found.device["gpus"]
    rows: list[tuple[str, Any]] = [
        *found.versions.items(),
        ("device", f"{found.device['asked']}, {gpus or 'no'} GPU{'' if gpus == 1 else 's'}"),
        *((gpu.name, f"{_size(gpu.total - gpu.used)} of {_size(gpu.total)} free") for gpu in machine.gpus),
        ("memory", f"{_size(machine.memory_free)} of {_size(machine.memory)} free, {machine.cores} cores"),
        ("data folder", f"{data['folder']} ({_size(data['free_bytes'])} free)"),
        ("cached vectors", _size(data["vectors_bytes"])),
        ("own models", _size(data["models_bytes"])),
        *((kept.what, _size(kept.size)) for kept in room.kept if kept.what in _ROOM),
        ("jobs", f"{waiting} waiting, {len(workers)} worker{'' if len(workers) == 1 else 's'} alive"),
        ("database", f"{database['url']}: {database['state']}"),
    ]
    if "rows" in database:
        about = f"{_size(database['bytes'])}, revision {database['revision']}, {_counts(database['rows'])}"
        rows.append(("it holds", about))
    wrong = [f"PROBLEM: {problem}" for problem in found.problems] or ["all is well"]
    return Report(
        data={
            **found.to_json(),
            "machine": machine.to_json(),
            "room": room.to_json(),
            "jobs": {
                "waiting": waiting,
                "workers": [{"host": w.host, "pid": w.pid, "since": w.since.isoformat()} for w in workers],
            },
        },
        text="\n".join([table(["what", "found"], rows), "", *wrong]),
        ok=not found.problems,
    )


def _counts(rows: Mapping[str, int]) -> str:
    named = {
        "trees": ("tree", "trees"),
        "events": ("act", "acts"),
        "corpora": ("corpus", "corpora"),
        "premises": ("premise", "premises"),
    }
    return ", ".join(f"{rows[name]:,} {nouns[rows[name] != 1]}" for name, nouns in named.items())


def _size(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.1f} MiB"
