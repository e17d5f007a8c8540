"""Command line ``entail ...``: thin wrappers of library functions.

A command is a function of a module in `_PARTS`, decorated by `console.command`. It calls one library
function and returns a `Report`; the decorator adds ``--json``, ``--progress`` and ``--debug``, prints the
report and keeps stdout clean. Checks stay in the library, so a missing file is an error of `entail.errors`
(exit code 1), not one of usage (2). Modules import only the standard library, typer and `entail.cli` at the
top: ``entail --help`` is quick.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from entail.cli import console
from entail.version import __version__

_PARTS = ("answer", "encoders", "evaluate", "jobs", "operations", "rank", "teams", "train")


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"entail {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Author explanation trees over your own corpus, with retrieval that learns what entails."""


def build_app() -> typer.Typer:
    """Return the application with all commands."""
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
    """Run ``entail`` and return the exit code; without arguments print the help.

    Args:
        arguments: Arguments; default: those of the process.
    """
    # Two OpenMP threads next to another busy process are five times slower without; read when torch loads.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    argv = sys.argv[1:] if arguments is None else arguments
    return console.run(build_app(), argv or ["--help"])
