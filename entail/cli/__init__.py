"""The command line: ``entail ...``, thin shells over library functions of the same names.

How to add a command
--------------------
Write a module in this folder, one a command group, and add its name to `_PARTS`, one line::

    app = typer.Typer()                             # its commands stand beside the others: `entail backup`
    app = typer.Typer(name="evaluate", help="...")  # a group: `entail evaluate premises`

    @app.command()
    @reports
    def backup(file: Annotated[Path, typer.Argument(help="File to write.")]) -> Report:
        \"\"\"Write everything into one file.\"\"\"
        from entail.trees.backup import write_backup  # what costs time to import is imported here

        with progress_bar() as progress:
            written = write_backup(file, progress=progress)
        return Report(data=written.to_json(), text=f"wrote {written.trees:,} trees to {file}")

A command calls one library function and returns a `Report`; `console.reports` adds ``--json``,
``--progress/--no-progress`` and ``--debug``, prints the report, and keeps stdout clean. It raises only errors
of `entail.errors`, whose message is all a person sees, and checks nothing that the library checks itself: a
file that is missing is the reader's error (exit code 1), not one of usage (2). Nothing is imported at the top
of a module but the standard library, typer and `entail.cli.console`, so that ``entail --help`` is quick.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from entail.cli import console
from entail.version import __version__

_PARTS = (
    "answer",
    "app",
    "average",
    "bias",
    "card",
    "claim",
    "convert",
    "evaluate",
    "export",
    "hub",
    "jobs",
    "operate",
    "promote",
    "rank",
    "sample",
    "serve",
    "storage",
    "submit",
    "train",
    "version",
    "worker",
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"entail {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Author explanation trees over your own corpus, with retrieval that learns what entails."""


def build_app() -> typer.Typer:
    """Put the parts together."""
    app = typer.Typer(
        name="entail",
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for part in _PARTS:
        app.add_typer(importlib.import_module(f"entail.cli.{part}").app)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``entail`` with these arguments, by default those of the process, and return the exit code.

    Without any it prints its help.
    """
    # Two OpenMP threads beside another busy process are five times slower without; read when torch loads.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    given = sys.argv[1:] if arguments is None else arguments
    with contextlib.ExitStack() as stack:
        if os.environ.get("RANK", "0") != "0":
            # Of several processes that torchrun started for one command the first says what came of it.
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(Path(os.devnull).open("w"))))
        return console.run(build_app(), given or ["--help"])
