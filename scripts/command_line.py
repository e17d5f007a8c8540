"""Command line of a script that measures and writes a page of its figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from entail.errors import EntailError


def make_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with the option `--table` that shows the docstring of its script as it stands."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="measure nothing, only write the page again")
    return parser


def slug(text: str) -> str:
    """Return what a text is called in names of files.

    >>> slug("minilm 0.8/H")
    'minilm-0-8-h'
    """
    return "".join(c if c.isalnum() else "-" for c in text.lower()).strip("-")


def measure_and_show(
    parser: argparse.ArgumentParser,
    measure: Callable[[argparse.Namespace], object],
    show: Callable[[argparse.Namespace], Path],
    *,
    needs: Sequence[str],
    arguments: Sequence[str] | None = None,
) -> int:
    """Measure unless `--table` is given, then write the page; exit with the message of an error.

    Args:
        parser: Parser of `make_parser`.
        measure: Measures as the options say, and writes a result file.
        show: Writes the page of the result file and returns it.
        needs: Names of options without which nothing can be measured.
        arguments: Command line; default: that of the process.
    """
    given = parser.parse_args(arguments)
    if not given.table and any(getattr(given, name) is None for name in needs):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in needs)
        parser.error(f"expected {options}, or --table alone")
    try:
        if not given.table:
            measure(given)
    except EntailError as error:
        sys.exit(f"Error: {error}")
    try:
        print(f"wrote {show(given)}")
    except FileNotFoundError as error:
        sys.exit(f"Error: expected figures in {error.filename}, found none; measure first")
    return 0
