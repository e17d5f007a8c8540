"""``entail convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entail.cli.console import Report, reports

app = typer.Typer()


@app.command()
@reports
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Trees: .jsonl, .jsonl.gz or .graphml.")],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help=".jsonl, .graphml, .dot, .svg, .html or .csv (pairs).")
    ],
    row: Annotated[int | None, typer.Option(help="Take this row of IN only; the first is 1.")] = None,
) -> Report:
    """Convert trees from one format to another, by suffix.

    Where OUT holds one tree and IN more, each gets a file of its own: out-001.svg, out-002.svg ...
    """
    from entail.trees.formats.convert import convert

    done = convert(source, target, row=row)
    files = [str(file) for file in done.files]
    where = files[0] if len(files) == 1 else f"{len(files):,} files, {files[0]} to {files[-1]}"
    return Report(
        data={"trees": done.trees, "files": files},
        text=f"wrote {done.trees:,} tree{'' if done.trees == 1 else 's'} to {where}",
    )
