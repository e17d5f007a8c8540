"""``entail clean``, ``entail logs``, ``entail licences``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from entail.cli.console import Report, reports, table

if TYPE_CHECKING:
    from entail.trees.corpora import CorpusStore

app = typer.Typer()


@app.command()
@reports
def clean(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...",
            help="Kinds (vectors, checkpoints, leftovers, logs) or ids of single things, as listed without.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would go, its size and what that costs.")
    ] = False,
    all_of_it: Annotated[
        bool, typer.Option("--all", help="Of kinds also what somebody is likely to need again soon.")
    ] = False,
) -> Report:
    """Remove what can be made again; without WHAT, list it.

    Trees, corpora, encoders, backups and the settings of jobs are never touched.
    """
    from entail.jobs.jobs import Jobs
    from entail.operations.cleaning import chosen, clean, removable
    from entail.operations.storage import in_words

    jobs = Jobs()
    with _corpora() as corpora:
        there = removable(jobs, corpora=corpora)
        picked = chosen(there, what or [], wanted=all_of_it) if what else there
        if dry_run or not what:
            rows = [[t.id, in_words(t.size), t.what, t.cost] for t in picked]
            text = table(["id", "size", "what", "removing it costs"], rows) if rows else "nothing to remove"
            return Report(data={"removable": [t.to_json() for t in picked]}, text=text)
        done = clean([t.id for t in picked], jobs=jobs, corpora=corpora)
    lines = [f"removed {len(done.removed)}, {in_words(done.size)} given back"]
    lines += [f"kept {name}: {why}" for name, why in done.kept.items()]
    return Report(
        data={
            "removed": [t.to_json() for t in done.removed],
            "bytes": done.size,
            "kept": dict(done.kept),
        },
        text="\n".join(lines),
        ok=not done.kept,
    )


@app.command("logs")
@reports
def show_logs(
    name: Annotated[str, typer.Argument(metavar="[app|worker|cli|JOB]", help="Whose log.")] = "app",
    lines: Annotated[int, typer.Option(min=1, help="Lines from its end.", metavar="N")] = 100,
) -> Report:
    """Show the end of a log, without secrets."""
    from entail.operations.logs import tail

    text = tail(name, lines=lines)
    return Report(data={"name": name, "text": text}, text=text or "nothing was said yet")


@app.command()
@reports
def licences() -> Report:
    """List the licences of everything here: packages, encoders, corpora."""
    from entail.operations.licences import data_licences, encoder_licences, package_licences

    with _corpora() as store:
        corpora = store.corpora() if store is not None else []
    found = [
        *encoder_licences(),
        *data_licences([(corpus.name, corpus.version, corpus.licence) for corpus in corpora]),
        *package_licences(),
    ]
    rows = [[one.kind, one.name, one.version, one.licence, "look" if one.look else ""] for one in found]
    return Report(
        data={"licences": [one.to_json() for one in found]},
        text=table(["what", "name", "version", "licence", ""], rows),
    )


@contextlib.contextmanager
def _corpora() -> Iterator[CorpusStore | None]:
    """Give the corpora, None where there is no database yet."""
    from entail.trees.corpora import CorpusStore
    from entail.trees.database import open_database, sqlite_file

    file = sqlite_file()
    if file is not None and not file.exists():
        yield None
        return
    database = open_database(read_only=True)
    try:
        yield CorpusStore(database)
    finally:
        database.close()
