"""Command line of a script that measures and writes a page of its figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from entail.data.nli.pairs import NliPair
from entail.errors import EntailError
from entail.evaluation.nli.sources import load_nli


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


def named_pairs(told: str) -> tuple[str, tuple[NliPair, ...]]:
    """Return the name and the pairs of `NAME=FILE` or `NAME=FILE:SPLIT`; exit if it is neither."""
    name, _, source = told.partition("=")
    path, _, split = source.partition(":")
    if not path:
        sys.exit(f"Error: expected NAME=FILE or NAME=FILE:SPLIT, found {told!r}")
    return name, tuple(load_nli(path, split=split or None).pairs)


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
        measure: Measures as the options say, and writes a result file; False if it wrote none.
        show: Writes the page of the result file and returns it.
        needs: Names of options without which nothing can be measured.
        arguments: Command line; default: that of the process.
    """
    options = parser.parse_args(arguments)
    if not options.table and any(getattr(options, name) is None for name in needs):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in needs)
        parser.error(f"expected {flags}, or --table alone")
    try:
        if not options.table and measure(options) is False:
            return 0
    except EntailError as error:
        sys.exit(f"Error: {error}")
    try:
        print(f"wrote {show(options)}")
    except FileNotFoundError as error:
        sys.exit(f"Error: expected figures in {error.filename}, found none; measure first")
    return 0
